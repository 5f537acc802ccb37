import type { Cancel, Clock, Ids } from '../../ports';
import type { Faults } from './faults';
import type { Random } from './random';
import type { Timeline } from './timeline';

export interface ProcessParts {
  readonly timeline: Timeline;
  readonly faults: Faults;
  readonly random: Random;
  /** Something was thrown where nothing in the process catches it. */
  readonly uncaught: (process: SimProcess, error: unknown) => void;
  readonly note: (process: SimProcess, what: string) => void;
}

/**
 * A process of the simulation. Its code is entered only through here, and what it does to the world goes only through here:
 * so it can be killed (nothing of it ever runs again, nothing it does counts) and paused (it runs on later).
 */
export class SimProcess {
  isDead = false;
  isPaused = false;
  /** Cut off from what lies behind that port. */
  readonly cut = { dispatch: false, store: false };
  private held: (() => void)[] = [];
  private wallOffset = 0;
  private monotonicOffset = 0;
  private pausedAt = 0;
  private isSuspended = false;
  private readonly endings: (() => void)[] = [];
  private readonly pauses: (() => void)[] = [];
  private readonly resumptions: (() => void)[] = [];
  /** Something of it has run since this was last cleared. */
  isTouched = false;

  constructor(
    readonly name: string,
    readonly kind: 'engine' | 'worker' | 'client',
    readonly parts: ProcessParts,
  ) {
    this.monotonicOffset = -parts.timeline.now + parts.random.below(1_000_000);
  }

  get runs(): boolean {
    return !this.isDead && !this.isPaused;
  }

  /** Runs code of the process now, or when it goes on, or never. */
  enter(run: () => void): void {
    if (this.isDead) return;
    if (this.isPaused) {
      this.held.push(run);
      return;
    }
    this.isTouched = true;
    try {
      run();
    } catch (error) {
      this.parts.uncaught(this, error);
    }
  }

  /** Enters the process later. */
  later(ms: number, run: () => void): Cancel {
    let cancelled = false;
    const cancel = this.parts.timeline.after(ms, () => this.enter(() => cancelled || run()));
    return () => {
      cancelled = true;
      cancel();
    };
  }

  /** Does something to the world, on behalf of the process; it may die before or after it, or stand still before. */
  act(effect: () => void): void {
    if (this.isDead) return;
    const { faults } = this.parts;
    if (faults.strikes('crashBeforeEffect')) return this.kill('before an effect');
    if (faults.strikes('pause')) this.pauseFor(this.pauseMs());
    if (faults.strikes('suspend')) this.suspendFor(this.pauseMs());
    if (this.isPaused) {
      this.held.push(effect);
      return;
    }
    effect();
    if (faults.strikes('crashAfterEffect')) this.kill('after an effect');
  }

  kill(how: string): void {
    if (this.isDead) return;
    this.parts.note(this, `dies ${how}`);
    this.isDead = true;
    this.held = [];
    for (const ended of this.endings) ended();
  }

  onEnd(run: () => void): void {
    this.endings.push(run);
  }

  onPause(run: () => void): void {
    this.pauses.push(run);
  }

  onResume(run: () => void): void {
    this.resumptions.push(run);
  }

  pauseFor(ms: number): void {
    if (!this.runs) return;
    this.parts.note(this, `pauses for ${ms} ms`);
    this.isPaused = true;
    this.pausedAt = this.parts.timeline.now;
    this.parts.timeline.after(ms, () => this.resume());
    for (const paused of this.pauses) paused();
  }

  /** The same with a monotonic clock that stands still meanwhile, as when a machine sleeps. */
  suspendFor(ms: number): void {
    if (!this.runs) return;
    this.pauseFor(ms);
    this.isSuspended = true;
  }

  resume(): void {
    if (!this.isPaused || this.isDead) return;
    this.parts.note(this, `goes on after ${this.parts.timeline.now - this.pausedAt} ms`);
    this.isPaused = false;
    if (this.isSuspended) this.monotonicOffset -= this.parts.timeline.now - this.pausedAt;
    this.isSuspended = false;
    const { held } = this;
    this.held = [];
    // Each is an event of its own, in the order in which they came.
    for (const run of held) this.parts.timeline.after(0, () => this.enter(run));
    for (const resumed of this.resumptions) resumed();
  }

  jumpWall(ms: number): void {
    this.wallOffset += ms;
  }

  private pauseMs(): number {
    return this.parts.random.chance(0.1)
      ? this.parts.random.magnitude(60_000, 3_600_000)
      : this.parts.random.magnitude(10, 60_000);
  }

  readonly clock: Clock = {
    now: () => this.parts.timeline.now + this.wallOffset,
    monotonic: () => this.parts.timeline.now + this.monotonicOffset,
    after: (ms, run) =>
      this.later(Math.ceil(ms), () => {
        if (this.parts.faults.strikes('crashInTimer')) this.kill('in a timer');
        else run();
      }),
  };

  readonly ids: Ids = {
    next: () => {
      const time = this.clock.now().toString(16).padStart(12, '0');
      const hex = (digits: number) =>
        this.parts.random
          .below(16 ** digits)
          .toString(16)
          .padStart(digits, '0');
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
    },
  };
}
