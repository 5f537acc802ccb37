import type { Event, RunState } from '../core';
import { keys } from '../store/keys';
import { copyOfState } from './state-copy';

/** A copy is made after so many events (K4). */
const copyEvents = 1_000;
/** A state up to this size is copied whenever a copy is wanted. */
const smallBytes = 64 * 1024;

/**
 * When copies of a run's state are made, from which time travel makes the states in between: at the beginning of a run that
 * goes on from another, at each roll, and every 1,000 events. A large state is copied only when as many bytes of history
 * have been written since: copies never cost more than the history does. The state at the start needs no copy.
 */
export class StateCopies {
  private bytesSince = 0;
  /** A copy that is made, and not yet in a batch. */
  private pending: { readonly event: number; readonly parts: readonly Uint8Array[] } | undefined;

  constructor(
    private readonly run: RunState,
    /** Number of the event after which the last one was made; that of the event before the run, for none. */
    public copiedAt: number,
  ) {}

  /** Of a run whose state of this moment cannot be made from its own history. */
  copyBeginning(at: number): void {
    this.pending = { event: this.run.head.events, parts: copyOfState(this.run, at) };
  }

  /** Puts what there is into a batch, after the events of that batch; `rowBytes` is the size of the state. */
  save(batch: Map<string, Uint8Array | undefined>, events: readonly Event[], bytes: number, rowBytes: number): void {
    this.put(batch);
    this.bytesSince += bytes;
    const { head, isOpen } = this.run;
    const wanted = head.events - this.copiedAt >= copyEvents || events.some(({ kind }) => kind === 'HistoryRolled');
    if (!isOpen || !wanted || rowBytes > Math.max(smallBytes, this.bytesSince)) return;
    this.copiedAt = head.events;
    this.bytesSince = 0;
    this.pending = { event: head.events, parts: copyOfState(this.run, events.at(-1)!.at) };
    this.put(batch);
  }

  private put(batch: Map<string, Uint8Array | undefined>): void {
    if (!this.pending) return;
    const { event, parts } = this.pending;
    for (const [i, part] of parts.entries()) batch.set(keys.copy(this.run.head.runId, event, i), part);
    this.pending = undefined;
  }
}
