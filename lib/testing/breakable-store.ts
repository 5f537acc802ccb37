import { HoldfastError } from '../errors';
import type { Entry, KeyRange, ShardStore, StateStore, WriteBatch } from '../ports';
import { keys } from '../store/keys';
import { MemoryStateStore } from '../store/memory-state-store';
import { decodeRecord } from '../values';
import type { Activity } from './activity';
import type { Life } from './life';

/** A run that needs a look at a time, or that has something outstanding. */
export interface StoredWake {
  readonly flowId: string;
  /** 0: something is outstanding. */
  readonly at: number;
}

/** The state, which outlives engines; counts their writes, and fails or ends their life at one of them. */
export class BreakableStore {
  /** Durable writes since the start. */
  writes = 0;
  /** Ends the life of engine and worker. */
  onCrash: () => void = () => {};
  /** An engine has opened its shard, and knows nothing of calls that were not answered. */
  onOpened: (epoch: number) => void = () => {};
  private readonly inner = new MemoryStateStore();
  private current: ShardStore | undefined;
  private crash: { when: 'before' | 'after'; in: number } | undefined;
  private failing = 0;

  constructor(private readonly activity: Activity) {}

  crashAt(when: 'before' | 'after', n: number): void {
    this.crash = { when, in: n };
  }

  failNext(n: number): void {
    this.failing = n;
  }

  /** The store as one engine gets it. */
  during(life: Life): StateStore {
    return {
      location: 'memory:',
      open: (shard) =>
        life.during(async () => {
          this.activity.note();
          this.current = await this.inner.open(shard);
          this.onOpened(this.current.epoch);
          return this.shardDuring(life, this.current);
        }),
      close: async () => {},
    };
  }

  /** What is saved of when runs need a look, soonest first. */
  async *wakes(): AsyncIterable<StoredWake> {
    const range = keys.wakesBetween(0, Number.MAX_SAFE_INTEGER - 1);
    for await (const [key, bytes] of this.current!.scan(range)) {
      yield { flowId: decodeRecord(bytes) as string, at: keys.dueOfWake(key) };
    }
  }

  private shardDuring(life: Life, inner: ShardStore): ShardStore {
    const { activity } = this;
    return {
      epoch: inner.epoch,
      get stats() {
        return inner.stats;
      },
      write: (batch) => life.during(() => this.write(inner, batch, life)),
      get: (key) => {
        activity.note();
        return life.during(() => inner.get(key));
      },
      scan: (range) => scanDuring(life, inner, range, activity),
      close: () => life.during(() => inner.close()),
    };
  }

  private async write(inner: ShardStore, batch: WriteBatch, life: Life): Promise<void> {
    this.activity.note();
    const { crash } = this;
    const crashes = crash !== undefined && --crash.in === 0;
    if (crashes) this.crash = undefined;
    if (crashes && crash.when === 'before') {
      this.onCrash();
      return;
    }
    if (this.failing > 0) {
      this.failing--;
      throw new HoldfastError('STORE_UNAVAILABLE', 'The test environment was told to fail this write.');
    }
    await inner.write(batch);
    if (life.isOver) return;
    this.writes++;
    this.activity.note();
    if (crashes) this.onCrash();
  }
}

async function* scanDuring(
  life: Life,
  inner: ShardStore,
  range: KeyRange,
  activity: Activity,
): AsyncGenerator<Entry, void> {
  activity.note();
  const entries = inner.scan(range)[Symbol.asyncIterator]();
  for (;;) {
    const next = await life.during(() => Promise.resolve(entries.next()));
    activity.note();
    if (next.done) return;
    yield next.value;
  }
}
