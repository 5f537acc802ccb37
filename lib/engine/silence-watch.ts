import type { Clock } from '../ports';
import type { HandedOut, Silence } from './handed-out';

/** The longest time between two looks at the workers. */
const lookMs = 5_000;

/** Looks from time to time whether a worker that has something in hand was silent for too long (X2). */
export class SilenceWatch {
  private isLooking = false;

  constructor(
    private readonly clock: Clock,
    private readonly handedOut: HandedOut,
    /** While nothing can be heard, silence says nothing: the time does not count. */
    private readonly isHeard: () => boolean,
    private readonly onSilence: (silences: readonly Silence[]) => void,
  ) {}

  /** Looks as often as what is handed out needs. */
  lookLater(): void {
    const shortest = this.handedOut.shortestTimeoutMs();
    if (shortest === null || this.isLooking) return;
    this.isLooking = true;
    const delay = Math.min(lookMs, Math.max(50, shortest / 4));
    const since = this.clock.monotonic();
    this.clock.after(delay, () => {
      this.isLooking = false;
      const now = this.clock.monotonic();
      // A look that comes late by more than its delay: the owner itself stood still.
      const stillMs = Math.max(0, now - since - (this.isHeard() ? 2 * delay : 0));
      this.onSilence(this.handedOut.overdue(now, stillMs));
      this.lookLater();
    });
  }
}
