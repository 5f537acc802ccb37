import { HoldfastError } from '../../errors';
import type { Entry, KeyRange, ShardStore, StateStore, StoreStats, WriteBatch } from '../../ports';
import type { Disk } from './disk';
import type { FaultKind } from './faults';
import type { SimProcess } from './sim-process';

/** How long an operation takes on this run's store. */
export interface StoreSpeed {
  readonly fastestMs: number;
  readonly slowestMs: number;
}

/** One process's way to the disk. */
export class SimStateStore implements StateStore {
  readonly location: string;

  constructor(
    readonly disk: Disk,
    readonly process: SimProcess,
    readonly speed: StoreSpeed,
  ) {
    this.location = disk.location;
  }

  open(shard: number): Promise<ShardStore> {
    return this.take('openFails', () => {
      const epoch = this.disk.open(shard, this.process, this.process.parts.timeline.now);
      return new SimShardStore(this, shard, epoch);
    });
  }

  async close(): Promise<void> {}

  /** An operation that is done at one moment, and may fail before it or never be answered. */
  take<T>(failure: FaultKind, effect: () => T): Promise<T> {
    const { process } = this;
    const { faults } = process.parts;
    return new Promise((resolve, reject) => {
      process.act(() => {
        // Stores give reads up by themselves in the end.
        const hangs = faults.strikes('readHangs');
        const fails = hangs || process.cut.store || faults.strikes(failure);
        const ms = hangs ? process.parts.random.magnitude(1_000, 60_000) : this.latency();
        process.parts.timeline.after(ms, () => {
          if (process.isDead) return;
          if (fails || process.cut.store) return process.enter(() => reject(unavailable('it failed')));
          const result = effect();
          process.enter(() => resolve(result));
        });
      });
    });
  }

  latency(): number {
    return this.process.parts.random.between(this.speed.fastestMs, this.speed.slowestMs);
  }
}

class SimShardStore implements ShardStore {
  readonly stats: StoreStats = { writes: 0, records: 0, bytes: 0 };
  private ended: HoldfastError | undefined;
  /** Writes take effect in the order of their calls. */
  private lastEffectAt = 0;

  constructor(
    private readonly store: SimStateStore,
    private readonly shard: number,
    readonly epoch: number,
  ) {}

  write(given: WriteBatch): Promise<void> {
    const batch = new Map(given);
    const { process } = this.store;
    const { timeline, faults } = process.parts;
    for (const key of batch.keys())
      if (key < '\u0001') throw new Error(`The key ${JSON.stringify(key)} is not allowed.`);
    return new Promise((resolve, reject) => {
      process.act(() => {
        if (this.ended) return process.enter(() => reject(this.ended));
        const lost = process.cut.store || faults.strikes('writeFails');
        const unknown = faults.strikes('writeUnknown');
        const hangs = faults.strikes('writeHangs');
        const slow = faults.strikes('writeSlow') ? process.parts.random.magnitude(100, 20_000) : 0;
        const effectAt = Math.max(timeline.now + this.store.latency() + slow, this.lastEffectAt);
        this.lastEffectAt = effectAt;
        // Once it is on its way it takes effect even if its sender is gone, unless it got lost.
        timeline.after(effectAt - timeline.now, () => {
          const failure = lost ? unavailable('nothing was written') : this.apply(batch);
          if (hangs) return;
          const answerMs = this.store.latency() / 2;
          if (failure) process.later(answerMs, () => this.fail(failure, reject));
          else if (unknown) process.later(answerMs, () => this.fail(unavailable('the outcome is unknown'), reject));
          else process.later(answerMs, resolve);
        });
      });
    });
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.read(() => this.table.get(key));
  }

  async *scan(range: KeyRange): AsyncIterable<Entry> {
    yield* await this.read(() => this.table.entries(range));
  }

  async close(): Promise<void> {
    this.ended ??= new HoldfastError('CLOSED', `shard ${this.shard} was closed.`);
  }

  private get table() {
    return this.store.disk.shard(this.shard).table;
  }

  private read<T>(look: () => T): Promise<T> {
    if (this.ended) return Promise.reject(this.ended);
    return this.store.take('readFails', look);
  }

  private apply(batch: WriteBatch): HoldfastError | undefined {
    if (this.ended && this.ended.code !== 'CLOSED') return this.ended;
    try {
      this.store.disk.write(this.shard, this.epoch, batch, this.store.process);
      return undefined;
    } catch (error) {
      if (error instanceof HoldfastError) return error;
      throw error;
    }
  }

  private fail(failure: HoldfastError, reject: (error: unknown) => void): void {
    this.ended ??= failure;
    reject(failure);
  }
}

function unavailable(what: string): HoldfastError {
  return new HoldfastError('STORE_UNAVAILABLE', `The simulated store failed: ${what}.`);
}
