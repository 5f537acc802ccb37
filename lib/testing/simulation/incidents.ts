import type { Cast } from './cast';
import { type FaultKind, type Faults, incidents } from './faults';
import type { Random } from './random';
import type { Switchboard } from './switchboard';
import type { Timeline } from './timeline';

/** Faults that come by themselves, at random times, until the run is healed. */
export class Incidents {
  constructor(
    private readonly timeline: Timeline,
    private readonly faults: Faults,
    private readonly random: Random,
    private readonly cast: Cast,
    private readonly board: Switchboard,
    private readonly note: (what: string) => void,
  ) {}

  begin(meanMs: number): void {
    const wait = -Math.log(1 - this.random.next()) * meanMs;
    this.timeline.after(Math.ceil(wait), () => {
      if (this.faults.areOver) return;
      const kind = this.random.pick(incidents);
      if (this.faults.happens(kind)) {
        this.note(`incident: ${kind}`);
        this.strike(kind);
      }
      this.begin(meanMs);
    });
  }

  private strike(kind: FaultKind): void {
    const { random, cast } = this;
    switch (kind) {
      case 'killEngine':
        return this.one('engine')?.kill('by an incident');
      case 'killWorker':
        return this.one('worker')?.kill('by an incident');
      case 'killClient':
        return this.one('client')?.kill('by an incident');
      case 'pauseEngine':
        return this.one('engine')?.pauseFor(random.magnitude(100, random.chance(0.2) ? 3_600_000 : 60_000));
      case 'pauseWorker':
        return this.one('worker')?.pauseFor(random.magnitude(100, 100_000));
      case 'drainWorker':
        return cast.drainWorker();
      case 'closeEngine':
        return cast.closeEngine();
      case 'dispatchEmptied':
        return this.cast.emptyDispatch();
      case 'wallJump':
        return this.one(random.pick(['engine', 'worker', 'client']))?.jumpWall(random.between(-5_000, 5_000));
      case 'cutFromDispatch':
        return this.cut('dispatch', random.pick(['engine', 'worker', 'client']));
      case 'cutFromStore':
        return this.cut('store', 'engine');
    }
  }

  private one(kind: 'engine' | 'worker' | 'client') {
    const living = this.cast.living(kind);
    return living.length > 0 ? this.random.pick(living) : undefined;
  }

  private cut(from: 'dispatch' | 'store', kind: 'engine' | 'worker' | 'client'): void {
    const process = this.one(kind);
    if (!process) return;
    process.cut[from] = true;
    this.timeline.after(this.random.magnitude(100, 120_000), () => {
      process.cut[from] = false;
      this.board.wakeReaders();
    });
  }
}
