import type { Random } from './random';

/** Everything that can go wrong, by name: each can be counted and switched off. */
export const faultKinds = [
  'crashBeforeEffect',
  'crashAfterEffect',
  'crashInTimer',
  'pause',
  'suspend',
  'writeFails',
  'writeUnknown',
  'writeHangs',
  'writeSlow',
  'readFails',
  'readHangs',
  'openFails',
  'messageLost',
  'messageDoubled',
  'messageLate',
  'sendFails',
  'dispatchEmptied',
  'cutFromDispatch',
  'cutFromStore',
  'killEngine',
  'killWorker',
  'killClient',
  'pauseEngine',
  'pauseWorker',
  'drainWorker',
  'closeEngine',
  'wallJump',
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** Faults that strike a port call by chance; the others are incidents that come by themselves. */
const highestRate: Partial<Record<FaultKind, number>> = {
  crashBeforeEffect: 0.01,
  crashAfterEffect: 0.01,
  crashInTimer: 0.01,
  pause: 0.01,
  suspend: 0.003,
  writeFails: 0.1,
  writeUnknown: 0.1,
  writeHangs: 0.03,
  writeSlow: 0.2,
  readFails: 0.03,
  readHangs: 0.005,
  openFails: 0.2,
  messageLost: 0.1,
  messageDoubled: 0.1,
  messageLate: 0.1,
  sendFails: 0.05,
};

export const incidents: readonly FaultKind[] = faultKinds.filter((kind) => highestRate[kind] === undefined);

export interface FaultLimits {
  /** Only the first so many faults strike. */
  readonly atMost?: number;
  readonly without?: ReadonlySet<FaultKind>;
}

/** Decides which faults a run has: the seed draws which kinds it has at all, how often, and when each strikes. */
export class Faults {
  readonly counts = new Map<FaultKind, number>();
  struck = 0;
  private healed = false;
  private readonly rates = new Map<FaultKind, number>();
  private readonly enabled = new Set<FaultKind>();

  constructor(
    private readonly random: Random,
    private readonly limits: FaultLimits,
  ) {
    // Many runs have few kinds of fault, so that each kind is also seen without the others hiding what it does.
    const share = random.pick([0, 0.15, 0.3, 0.6, 1]);
    for (const kind of faultKinds) {
      if (random.chance(share)) this.enabled.add(kind);
      const highest = highestRate[kind];
      if (highest !== undefined) this.rates.set(kind, highest * random.next() ** 2);
    }
  }

  /** Whether this fault strikes here and now. */
  strikes(kind: FaultKind): boolean {
    if (this.healed || !this.enabled.has(kind) || !this.random.chance(this.rates.get(kind)!)) return false;
    return this.allow(kind);
  }

  /** Whether an incident that is due may happen. */
  happens(kind: FaultKind): boolean {
    return !this.healed && this.enabled.has(kind) && this.allow(kind);
  }

  /** From here on nothing goes wrong any more. */
  heal(): void {
    this.healed = true;
  }

  get areOver(): boolean {
    return this.healed;
  }

  private allow(kind: FaultKind): boolean {
    if (this.struck >= (this.limits.atMost ?? Number.POSITIVE_INFINITY) || this.limits.without?.has(kind)) return false;
    this.struck++;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    return true;
  }
}
