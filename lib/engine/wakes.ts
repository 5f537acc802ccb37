import { DueQueue } from '../core';
import type { Cancel, Clock, ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord } from '../values';
import type { ShardClock } from './shard-clock';

/** Due times are read from the store this far ahead; those of flows in memory are known anyway. */
const horizonMs = 60_000;

/** When the flows of a shard next need a look. A flow that only waits costs its record in the store, and nothing here. */
export class Wakes {
  private readonly due = new DueQueue();
  private readUntil = 0;
  private cancelTimer: Cancel | undefined;

  constructor(
    private readonly store: ShardStore,
    private readonly clock: Clock,
    private readonly time: ShardClock,
    private readonly hooks: { due(): void; failed(error: unknown): void },
  ) {}

  set(flowId: string, at: number | null): void {
    this.due.set(flowId, at);
  }

  takeDue(): string[] {
    return this.due.takeDue(this.time.now());
  }

  /** Reads the first stretch; gives the flows that must be in memory now: with something outstanding, or due. */
  async open(): Promise<string[]> {
    const now = this.time.now();
    const active: string[] = [];
    for await (const [flowId, at] of this.read(0, now + horizonMs)) {
      if (at <= now) active.push(flowId);
      else this.set(flowId, at);
    }
    return active;
  }

  /** Sets the timer for what is due next. */
  arm(): void {
    this.cancelTimer?.();
    const next = Math.min(this.due.next() ?? Number.POSITIVE_INFINITY, this.readUntil - horizonMs / 2);
    this.cancelTimer = this.clock.after(Math.max(0, next - this.time.now()), () => {
      this.readAhead().then(this.hooks.due, this.hooks.failed);
    });
  }

  private async readAhead(): Promise<void> {
    const now = this.time.now();
    if (now < this.readUntil - horizonMs / 2) return;
    for await (const [flowId, at] of this.read(this.readUntil + 1, now + horizonMs)) this.set(flowId, at);
  }

  private async *read(from: number, until: number): AsyncIterable<[flowId: string, at: number]> {
    for await (const [key, bytes] of this.store.scan(keys.wakesBetween(from, until))) {
      yield [decodeRecord(bytes) as string, keys.dueOfWake(key)];
    }
    this.readUntil = until;
  }
}
