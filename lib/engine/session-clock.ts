import type { Cancel, Clock } from '../ports';

/** The clock of one session: its timers end with it, whatever would still set one. */
export class SessionClock implements Clock {
  protected readonly pending = new Set<Cancel>();
  private isOver = false;

  constructor(private readonly clock: Clock) {}

  now(): number {
    return this.clock.now();
  }

  monotonic(): number {
    return this.clock.monotonic();
  }

  after(delayMs: number, run: () => void): Cancel {
    if (this.isOver) return () => {};
    const cancel = this.clock.after(delayMs, () => {
      this.pending.delete(drop);
      run();
    });
    const drop = () => {
      this.pending.delete(drop);
      cancel();
    };
    this.pending.add(drop);
    return drop;
  }

  end(): void {
    this.isOver = true;
    for (const drop of this.pending) drop();
  }
}
