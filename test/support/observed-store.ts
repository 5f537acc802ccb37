import type { Event } from '../../lib/core';
import { HoldfastError } from '../../lib/errors';
import type { Entry, KeyRange, ShardStore, StateStore, StoreStats, WriteBatch } from '../../lib/ports';
import { decodeRecord } from '../../lib/values';

/** What a test makes of the writes of a system; may be changed at any time. */
export interface StoreFaults {
  /** Waits, or throws: then nothing of the batch is written. */
  beforeWrite?(batch: WriteBatch): void | Promise<void>;
  /** Waits, or throws although the batch was written. */
  afterWrite?(batch: WriteBatch): void | Promise<void>;
  /** Waits, or throws, before a range is read. */
  beforeScan?(range: KeyRange): void | Promise<void>;
  /** Called when a write that had begun has failed, in any way. */
  failed?(): void;
}

/** A store that outlives the processes that use it, watches their writes and injects faults into them. */
export class ObservedStore {
  faults: StoreFaults = {};
  /** Writes that have begun and not ended. */
  writing = 0;
  /** Every batch that was written, oldest first; only while `keepBatches` is set. */
  readonly batches: WriteBatch[] = [];
  keepBatches = false;
  private current: ProcessStore | undefined;

  constructor(readonly inner: StateStore) {}

  /** The store as a new process gets it. */
  forProcess(): StateStore {
    this.current = new ProcessStore(this);
    return this.current;
  }

  /** From here on the process writes nothing more; resolves when what was under way has ended. */
  async crash(): Promise<void> {
    await this.current?.kill();
    this.current = undefined;
  }

  async close(): Promise<void> {
    await this.crash();
    await this.inner.close();
  }

  /** How many records there are whose key begins so. */
  async count(prefix: string): Promise<number> {
    return this.current ? this.current.count(prefix) : 0;
  }
}

/** Kinds of the events that a batch adds to the histories of runs, in order. */
export function eventsIn(batch: WriteBatch): string[] {
  const kinds: string[] = [];
  for (const [key, value] of batch) {
    if (!key.startsWith('h/') || !value) continue;
    for (const { kind } of decodeRecord(value) as Event[]) kinds.push(kind);
  }
  return kinds;
}

class ProcessStore implements StateStore {
  private readonly open_ = new Set<ObservedShard>();
  dead = false;

  constructor(readonly owner: ObservedStore) {}

  get location(): string {
    return this.owner.inner.location;
  }

  async open(shard: number): Promise<ShardStore> {
    if (this.dead) throw crashed();
    const opened = new ObservedShard(await this.owner.inner.open(shard), this);
    this.open_.add(opened);
    return opened;
  }

  async close(): Promise<void> {}

  async kill(): Promise<void> {
    this.dead = true;
    for (const shard of this.open_) await shard.close();
    this.open_.clear();
  }

  forget(shard: ObservedShard): void {
    this.open_.delete(shard);
  }

  async count(prefix: string): Promise<number> {
    let count = 0;
    for (const shard of this.open_) {
      for await (const _ of shard.scan({ from: prefix, to: `${prefix}\u{10ffff}` })) count++;
    }
    return count;
  }
}

class ObservedShard implements ShardStore {
  constructor(
    private readonly inner: ShardStore,
    private readonly process: ProcessStore,
  ) {}

  get epoch(): number {
    return this.inner.epoch;
  }

  get stats(): StoreStats {
    return this.inner.stats;
  }

  async write(batch: WriteBatch): Promise<void> {
    const { owner } = this.process;
    if (this.process.dead) throw crashed();
    owner.writing++;
    try {
      await owner.faults.beforeWrite?.(batch);
      if (this.process.dead) throw crashed();
      await this.inner.write(batch);
      if (owner.keepBatches) owner.batches.push(batch);
      await owner.faults.afterWrite?.(batch);
    } catch (error) {
      owner.faults.failed?.();
      throw error;
    } finally {
      owner.writing--;
    }
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.inner.get(key);
  }

  async *scan(range: KeyRange): AsyncIterable<Entry> {
    await this.process.owner.faults.beforeScan?.(range);
    yield* this.inner.scan(range);
  }

  close(): Promise<void> {
    this.process.forget(this);
    return this.inner.close();
  }
}

function crashed(): HoldfastError {
  return new HoldfastError('FENCED', 'This process has crashed.');
}
