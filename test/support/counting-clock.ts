import { SessionClock } from '../../lib/engine/session-clock';

/** Counts the timers that have neither come due nor been cancelled. */
export class CountingClock extends SessionClock {
  get timers(): number {
    return this.pending.size;
  }
}
