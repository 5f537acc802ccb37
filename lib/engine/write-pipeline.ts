import { HoldfastError } from '../errors';
import type { Cancel, Clock, ShardStore } from '../ports';
import type { Cell } from './cell';

type Batch = Map<string, Uint8Array | undefined>;

/** How long a write that nobody waits for may be held back to gather more (P3). */
const asyncDelayMs = 20;

/**
 * The writes of one shard, in order. Changes gather in a batch; while one is being written the next gathers, so that many
 * callers share a flush without any of them waiting for a timer. What is to happen when a batch is durable waits with it.
 */
export class WritePipeline {
  /** Number of the batch that gathers. */
  gathering = 1;
  /** Number of the last batch that is durable. */
  durable = 0;
  private dirty = new Set<Cell>();
  private records: Batch = new Map();
  private outputs = new Map<number, (() => void)[]>();
  private urgent = false;
  private proving = false;
  private writing = false;
  private stopped = false;
  private cancelDelay: Cancel | undefined;
  private readonly idleWaiters: (() => void)[] = [];

  constructor(
    private readonly store: ShardStore,
    private readonly clock: Clock,
    private readonly writeTimeoutMs: number,
    private readonly hooks: {
      /** Adds what every batch carries; called when a batch is made, before the cells that changed are saved in it. */
      complete(batch: Batch, changed: ReadonlySet<Cell>): void;
      durable(): void;
      /** A write took that long. */
      wrote(ms: number): void;
      /** Asked before each write: false ends the session. */
      mayWrite(): boolean;
      /** The outcome of a write is unknown, or the shard was taken: nothing goes out any more. */
      failed(error: unknown): void;
    },
  ) {}

  change(cell: Cell): void {
    this.dirty.add(cell);
    cell.changedIn = this.gathering;
  }

  put(key: string, value: Uint8Array | undefined): void {
    this.records.set(key, value);
  }

  /** Somebody waits for the batch that gathers: write it as soon as can be. */
  hurry(): void {
    this.urgent = true;
  }

  /** Writes although nothing may have changed: the outcome shows whether the shard is still this owner's. */
  prove(): void {
    this.proving = true;
    this.urgent = true;
  }

  /** Runs at once if that batch is durable, else when it is. */
  whenDurable(batch: number, run: () => void): void {
    if (this.stopped) return;
    if (batch <= this.durable) {
      run();
      return;
    }
    const outputs = this.outputs.get(batch);
    if (outputs) outputs.push(run);
    else this.outputs.set(batch, [run]);
  }

  /** Starts a write if there is a reason and none is under way. */
  go(): void {
    if (this.stopped || this.writing) return;
    if (this.dirty.size + this.records.size === 0 && !this.proving) {
      if (this.outputs.has(this.gathering)) this.finish(this.gathering++);
      this.tellIdle();
      return;
    }
    if (this.urgent) this.write();
    else
      this.cancelDelay ??= this.clock.after(asyncDelayMs, () => {
        this.urgent = true;
        this.go();
      });
  }

  /** Resolves when everything that has gathered is durable, or the pipeline has stopped. */
  async drained(): Promise<void> {
    this.urgent = true;
    this.go();
    if (this.stopped || (!this.writing && this.dirty.size + this.records.size === 0)) return;
    await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  /** Drops what has not been written, with all that waits for it. */
  stop(): void {
    this.stopped = true;
    this.cancelDelay?.();
    this.outputs.clear();
    for (const resolve of this.idleWaiters.splice(0)) resolve();
  }

  private write(): void {
    if (!this.hooks.mayWrite()) return this.stop();
    const number = this.gathering++;
    const batch = this.records;
    this.hooks.complete(batch, this.dirty);
    for (const cell of this.dirty) cell.save(batch);
    this.records = new Map();
    this.dirty = new Set();
    this.urgent = false;
    this.proving = false;
    this.cancelDelay?.();
    this.cancelDelay = undefined;
    this.writing = true;
    const began = this.clock.monotonic();
    this.timed(this.store.write(batch)).then(
      () => {
        this.writing = false;
        if (this.stopped) return;
        this.hooks.wrote(this.clock.monotonic() - began);
        this.finish(number);
        this.go();
      },
      (error) => {
        this.writing = false;
        if (this.stopped) return;
        // Also where nobody listens to the session any more, because it is being closed.
        this.stop();
        this.hooks.failed(error);
      },
    );
  }

  private finish(number: number): void {
    this.durable = number;
    const outputs = this.outputs.get(number) ?? [];
    this.outputs.delete(number);
    for (const run of outputs) run();
    this.hooks.durable();
  }

  private tellIdle(): void {
    for (const resolve of this.idleWaiters.splice(0)) resolve();
  }

  private timed(write: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(this.writeTimeoutMs, () =>
        reject(
          new HoldfastError('STORE_UNAVAILABLE', `The store gave no answer to a write for ${this.writeTimeoutMs} ms.`),
        ),
      );
      write.then(
        () => {
          cancel();
          resolve();
        },
        (error) => {
          cancel();
          reject(error);
        },
      );
    });
  }
}
