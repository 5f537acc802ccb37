import type { Decision, StepContext, Wait } from '../../../authoring';
import { recordLock, recordStep } from '../../../metadata';
import { type Hands, performExecute, performWait } from './perform';
import { Probe } from './probe';
import { type NodeInput, nonRetryableName, stepOptions } from './program';
import { Counter, Ledger, Letters, Note, Parcels, Tags } from './state';
import { nameSteps } from './step-names';

const { durability: _, ...common } = stepOptions;
const options = { ...common, retry: { ...common.retry, nonRetryable: [nonRetryableName] } };

/** Touches no locked state. */
export class Plain implements Hands {
  constructor(
    readonly probe: Probe,
    readonly note: Note,
    readonly tags: Tags,
    readonly letters: Letters,
    readonly parcels: Parcels,
  ) {}

  look(): Record<string, unknown> {
    return {};
  }

  execute(input: NodeInput, ctx: StepContext): Promise<Decision> {
    return performExecute(this.probe, input, ctx, this);
  }
}
recordStep(Plain, { ...options, name: 'Plain', inject: [Probe, Note, Tags, Letters, Parcels] });

/** Waits first. */
export class Waiting extends Plain {
  waitFor(input: NodeInput, ctx: StepContext): Promise<Wait> {
    return performWait(this.probe, input, ctx, this);
  }
}
recordStep(Waiting, { ...options, name: 'Waiting', inject: [Probe, Note, Tags, Letters, Parcels] });

/** Fails for good and is recovered from. */
export class Risky extends Plain {}
recordStep(Risky, {
  ...options,
  name: 'Risky',
  inject: [Probe, Note, Tags, Letters, Parcels],
  onFailure: () => Rescue,
});

export class Rescue extends Plain {}
recordStep(Rescue, { ...options, name: 'Rescue', inject: [Probe, Note, Tags, Letters, Parcels] });

/** Adds one to the Counter under its exclusive lock. */
export class Counting implements Hands {
  constructor(
    readonly probe: Probe,
    readonly counter: Counter,
    readonly note: Note,
    readonly letters: Letters,
  ) {}

  look(): Record<string, unknown> {
    return { Counter: this.counter.get() ?? null };
  }

  write(): void {
    this.counter.set((this.counter.get() ?? 0) + 1);
  }

  execute(input: NodeInput, ctx: StepContext): Promise<Decision> {
    return performExecute(this.probe, input, ctx, this);
  }
}
recordStep(Counting, { ...options, name: 'Counting', inject: [Probe, Counter, Note, Letters] });

/** The same after a wait, which holds no lock. */
export class CountingLate extends Counting {
  waitFor(input: NodeInput, ctx: StepContext): Promise<Wait> {
    return performWait(this.probe, input, ctx, this);
  }
}
recordStep(CountingLate, { ...options, name: 'CountingLate', inject: [Probe, Counter, Note, Letters] });

/** Adds one to its own entry of the Ledger, and locks only that. */
export class Booking implements Hands {
  constructor(
    readonly probe: Probe,
    readonly ledger: Ledger,
    readonly note: Note,
  ) {}

  look({ account }: NodeInput): Record<string, unknown> {
    return { [`Ledger ${account}`]: this.ledger.get(account) ?? null };
  }

  write({ account }: NodeInput): void {
    this.ledger.set(account, (this.ledger.get(account) ?? 0) + 1);
  }

  execute(input: NodeInput, ctx: StepContext): Promise<Decision> {
    return performExecute(this.probe, input, ctx, this);
  }
}
recordStep(Booking, { ...options, name: 'Booking', inject: [Probe, Ledger, Note] });
recordLock(Booking, { index: 1, mode: 'exclusive', key: 'account' });

/** Reads Counter and Ledger under shared locks. */
export class Reading implements Hands {
  constructor(
    readonly probe: Probe,
    readonly counter: Counter,
    readonly ledger: Ledger,
  ) {}

  look(): Record<string, unknown> {
    const seen: Record<string, unknown> = { Counter: this.counter.get() ?? null };
    for (const key of this.ledger.keys()) seen[`Ledger ${key}`] = this.ledger.get(key);
    return seen;
  }

  execute(input: NodeInput, ctx: StepContext): Promise<Decision> {
    return performExecute(this.probe, input, ctx, this);
  }
}
recordStep(Reading, { ...options, name: 'Reading', inject: [Probe, Counter, Ledger] });
recordLock(Reading, { index: 1, mode: 'shared', key: undefined });
recordLock(Reading, { index: 2, mode: 'shared', key: undefined });

export const steps = { Plain, Waiting, Risky, Rescue, Counting, CountingLate, Booking, Reading };
nameSteps(steps);
