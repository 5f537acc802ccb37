import type { Clock } from '../ports';

/**
 * The clock of one shard: the host's wall clock, but never running backwards, over owners too (W6): each write carries the
 * time it was made at, and the next owner starts no earlier.
 */
export class ShardClock {
  private last: number;
  private lastMonotonic: number;

  constructor(
    private readonly clock: Clock,
    stored: number,
  ) {
    this.last = Math.max(clock.now(), stored);
    this.lastMonotonic = clock.monotonic();
  }

  now(): number {
    const monotonic = this.clock.monotonic();
    // A wall clock that stands behind (set back, or a slower host) is overtaken by the time that has really passed.
    const passed = Math.floor(monotonic - this.lastMonotonic);
    const now = Math.max(this.clock.now(), this.last + passed);
    if (now > this.last) {
      this.last = now;
      this.lastMonotonic = monotonic;
    }
    return this.last;
  }
}
