import type { Entry, KeyRange, ShardStore, StateStore, StoreStats, WriteBatch } from '../ports';
import { MemoryTable } from './memory-table';
import { openRange, ShardSession } from './shard-session';

/** Hooks for tests; each may wait, or throw. */
export interface MemoryStoreFaults {
  /** Before a shard is opened. Throwing makes `open` fail. */
  beforeOpen?(shard: number): void | Promise<void>;
  /** Before a batch is applied. Throwing refuses it: nothing is applied. */
  beforeWrite?(batch: WriteBatch, shard: number): void | Promise<void>;
  /** After a batch was applied and before its writer hears of it. Throwing makes an unknown outcome. */
  afterWrite?(batch: WriteBatch, shard: number): void | Promise<void>;
  /** Before a get or scan. Throwing makes it fail. */
  beforeRead?(shard: number): void | Promise<void>;
}

interface MemoryShard {
  readonly table: MemoryTable;
  epoch: number;
}

/**
 * A state store in this object's memory, for tests and embedded use where nothing needs to outlive the process. What was
 * written stays through `close` and opening again, as it would on a disk, until the object is gone. Values are not copied.
 */
export class MemoryStateStore implements StateStore {
  readonly location = 'memory:';
  /** May be changed at any time; it is looked at for each call. */
  faults: MemoryStoreFaults;
  private readonly shards = new Map<number, MemoryShard>();

  constructor(faults: MemoryStoreFaults = {}) {
    this.faults = faults;
  }

  async open(shard: number): Promise<ShardStore> {
    await this.faults.beforeOpen?.(shard);
    let data = this.shards.get(shard);
    if (data === undefined) {
      data = { table: new MemoryTable(), epoch: 0 };
      this.shards.set(shard, data);
    }
    data.epoch++;
    return new OpenMemoryShard(this, shard, data);
  }

  async close(): Promise<void> {}
}

class OpenMemoryShard implements ShardStore {
  readonly epoch: number;
  private readonly session: ShardSession;

  constructor(
    private readonly store: MemoryStateStore,
    private readonly shard: number,
    private readonly data: MemoryShard,
  ) {
    this.epoch = data.epoch;
    this.session = new ShardSession(`memory:, shard ${shard}`);
  }

  get stats(): StoreStats {
    return this.session.stats;
  }

  write(batch: WriteBatch): Promise<void> {
    return this.session.write(batch, async () => {
      await this.store.faults.beforeWrite?.(batch, this.shard);
      if (this.data.epoch !== this.epoch) throw this.session.fenced();
      this.data.table.apply(batch);
      await this.store.faults.afterWrite?.(batch, this.shard);
    });
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.session.read(async () => {
      await this.store.faults.beforeRead?.(this.shard);
      return this.data.table.get(key);
    });
  }

  async *scan(range: KeyRange): AsyncIterable<Entry> {
    yield* await this.session.read(async () => {
      await this.store.faults.beforeRead?.(this.shard);
      const within = openRange(range);
      return within === undefined ? [] : this.data.table.entries(within);
    });
  }

  async close(): Promise<void> {
    this.session.end();
    await this.session.idle();
  }
}
