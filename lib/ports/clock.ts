/** Time, so that tests and the simulator can move it. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never run backwards and know no wall-clock jumps. */
  monotonic(): number;
  /** Calls `run` once, `delayMs` later or after the longest delay the host can hold, whichever is sooner. */
  after(delayMs: number, run: () => void): Cancel;
}

export type Cancel = () => void;
