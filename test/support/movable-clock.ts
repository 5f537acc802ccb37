import { performance } from 'node:perf_hooks';
import { SessionClock } from '../../lib/engine/session-clock';
import type { Cancel, Clock } from '../../lib/ports';

const longestMs = 2 ** 31 - 1;

interface Timer {
  readonly dueAt: number;
  readonly run: () => void;
  handle: NodeJS.Timeout | undefined;
}

/** By how much a clock was moved. */
export interface ClockState {
  readonly wallMs: number;
  readonly passedMs: number;
}

/** Real time plus what a test has moved it by. */
export class MovableClock implements Clock {
  private wallMs: number;
  private passedMs: number;
  private readonly timers = new Set<Timer>();

  constructor({ wallMs, passedMs }: ClockState = { wallMs: 0, passedMs: 0 }) {
    this.wallMs = wallMs;
    this.passedMs = passedMs;
  }

  get state(): ClockState {
    return { wallMs: this.wallMs, passedMs: this.passedMs };
  }

  now(): number {
    return Math.floor(Date.now() + this.wallMs);
  }

  monotonic(): number {
    return performance.now() + this.passedMs;
  }

  after(delayMs: number, run: () => void): Cancel {
    const timer: Timer = { dueAt: this.monotonic() + Math.max(0, delayMs), run, handle: undefined };
    this.timers.add(timer);
    this.arm(timer);
    return () => this.drop(timer);
  }

  /** Lets time pass: what falls due on the way runs at once, in order. */
  move(ms: number): void {
    this.wallMs += ms;
    this.passedMs += ms;
    const now = this.monotonic();
    const due = [...this.timers].filter(({ dueAt }) => dueAt <= now).sort((a, b) => a.dueAt - b.dueAt);
    for (const timer of due) if (this.timers.has(timer)) this.fire(timer);
    for (const timer of this.timers) this.arm(timer);
  }

  /** Sets the wall clock, as an administrator or a correction does; no time passes. */
  setWall(byMs: number): void {
    this.wallMs += byMs;
  }

  /** Nothing that was set comes due any more. */
  stop(): void {
    for (const timer of this.timers) this.drop(timer);
  }

  /** The same clock for one process, which can be stopped with it. */
  forProcess(): ProcessClock {
    return new ProcessClock(this);
  }

  private arm(timer: Timer): void {
    clearTimeout(timer.handle);
    timer.handle = setTimeout(() => this.fire(timer), Math.min(longestMs, timer.dueAt - this.monotonic()));
  }

  private fire(timer: Timer): void {
    this.drop(timer);
    timer.run();
  }

  private drop(timer: Timer): void {
    clearTimeout(timer.handle);
    this.timers.delete(timer);
  }
}

/** A clock whose timers end with the process they belong to. */
export class ProcessClock extends SessionClock {
  stop(): void {
    this.end();
  }
}
