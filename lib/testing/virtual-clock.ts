import type { Cancel, Clock } from '../ports';
import type { Activity } from './activity';

interface VirtualTimer {
  readonly dueAt: number;
  readonly delayMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until it is moved; its timers hold no timer of the host. */
export class VirtualClock implements Clock {
  private passedMs = 0;
  private order = 0;
  private readonly timers = new Set<VirtualTimer>();

  constructor(
    private readonly startAt: number,
    private readonly activity: Activity,
  ) {}

  now(): number {
    return this.startAt + this.passedMs;
  }

  monotonic(): number {
    return this.passedMs;
  }

  after(delayMs: number, run: () => void): Cancel {
    const delay = Math.max(0, Math.ceil(delayMs));
    const timer = { dueAt: this.now() + delay, delayMs: delay, order: ++this.order, run };
    this.timers.add(timer);
    this.activity.note();
    return () => {
      if (this.timers.delete(timer)) this.activity.note();
    };
  }

  /** When the first timer is due, of those that were set for at most `longestMs`. */
  nextDue(longestMs = Number.POSITIVE_INFINITY): number | undefined {
    let next: number | undefined;
    for (const { dueAt, delayMs } of this.timers) {
      if (delayMs <= longestMs && (next === undefined || dueAt < next)) next = dueAt;
    }
    return next;
  }

  /** Goes to that time, never back. */
  moveTo(at: number): void {
    this.passedMs = Math.max(this.passedMs, at - this.startAt);
  }

  /** Fires what is due, in order, each once; true if there was anything. */
  fire(): boolean {
    const now = this.now();
    const due = [...this.timers].filter(({ dueAt }) => dueAt <= now);
    due.sort((a, b) => a.dueAt - b.dueAt || a.order - b.order);
    for (const timer of due) if (this.timers.delete(timer)) timer.run();
    return due.length > 0;
  }
}
