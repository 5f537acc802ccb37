import { performance } from 'node:perf_hooks';
import type { Cancel, Clock } from '../ports';

/** The longest delay that the host's timers hold; a longer one would fire at once. */
const longestMs = 2 ** 31 - 1;

/** The host's clocks and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs: number, run: () => void): Cancel {
    const timer = setTimeout(run, Math.min(Math.max(0, delayMs), longestMs));
    return () => clearTimeout(timer);
  },
};
