/** What a Step is told to do. Its input names the node; the program itself is known to everybody who looks it up. */
export interface ProgramNode {
  readonly index: number;
  readonly step: StepName;
  readonly input: NodeInput;
  readonly options: NodeOptions;
  readonly waitFor: MethodScript;
  readonly execute: MethodScript;
  /** Set where the Step waits. */
  readonly wait: WaitScript | null;
  readonly next: Next;
  /** The node that its recovery Step acts by. */
  readonly rescue: number | null;
}

export type StepName = 'Plain' | 'Waiting' | 'Counting' | 'Booking' | 'Reading' | 'Risky' | 'Rescue' | 'CountingLate';

export interface NodeInput {
  readonly node: number;
  /** Entry of the Ledger that `Booking` locks. */
  readonly account: string;
  /** Makes some inputs large. */
  readonly ballast: string;
}

/** Always given whole, so that the model need not know what stands in for what is left out. */
export interface NodeOptions {
  /** undefined: as the run's config says. */
  readonly durability: 'SYNC' | 'ASYNC' | undefined;
  readonly timeout: number;
  readonly heartbeatTimeout: number;
  readonly startTimeout: number | null;
  readonly onWaitForFailure: 'fail' | 'proceed';
  readonly retry: RetryScript;
}

export interface RetryScript {
  readonly initialInterval: number;
  readonly coefficient: number;
  readonly maximumInterval: number;
  readonly maximumAttempts: number | null;
}

/** Options of every Step, where no movement says otherwise: those of the first. */
export const stepOptions: NodeOptions = {
  durability: undefined,
  timeout: 60_000,
  heartbeatTimeout: 10_000,
  startTimeout: null,
  onWaitForFailure: 'fail',
  retry: { initialInterval: 400, coefficient: 2, maximumInterval: 5_000, maximumAttempts: 6 },
};

export type FailureKind = 'throws' | 'nonRetryable' | 'retryAfter' | 'hangs' | 'definition';

/** What the body of a method does. */
export interface MethodScript {
  /** The first so many attempts fail. */
  readonly failures: number;
  readonly how: FailureKind;
  readonly sleepMs: number;
  readonly beats: number;
  /** It sleeps on when its signal aborts. */
  readonly deaf: boolean;
  readonly note: string | null;
  readonly tag: readonly [key: string, value: number] | null;
  readonly publishes: readonly Letter[];
}

export interface Letter {
  readonly channel: 'Letters' | 'Parcels';
  /** Of the Parcels. */
  readonly key: string | undefined;
  readonly text: string;
}

export type ConditionScript =
  | {
      readonly kind: 'channel';
      readonly id: string;
      readonly channel: 'Letters' | 'Parcels';
      readonly key: string | undefined;
      readonly take: 'take' | 'takeAtLeast' | 'takeUpTo' | 'takeBetween';
      readonly min: number;
      readonly max: number | null;
    }
  | { readonly kind: 'timer'; readonly id: string; readonly afterMs: number };

export interface WaitScript {
  readonly how: 'until' | 'allOf' | 'anyOf' | 'anyCombinationOf';
  readonly conditions: readonly ConditionScript[];
  /** Positions in `conditions` in the order in which they are to be tried, as the contract says (W2). */
  readonly candidates: readonly (readonly number[])[];
}

export type Next =
  | { readonly kind: 'goTo'; readonly nodes: readonly number[]; readonly cancels: CancelScript | null }
  | { readonly kind: 'gracefulComplete'; readonly output: string | null; readonly cancels: CancelScript | null }
  | { readonly kind: 'forceComplete'; readonly output: string | null }
  | { readonly kind: 'forceFail' }
  | { readonly kind: 'deadEnd'; readonly cancels: CancelScript | null }
  | { readonly kind: 'completeIfEmpty'; readonly otherwise: number };

export interface CancelScript {
  readonly steps: readonly StepName[];
  readonly siblingsOnly: boolean;
}

/** What one flowId does in a run of the simulation. */
export interface Program {
  readonly flowId: string;
  readonly flow: 'Steady' | 'Hasty';
  /** Of the start; undefined: as the Flow says. */
  readonly durability: 'SYNC' | 'ASYNC' | undefined;
  readonly nodes: readonly ProgramNode[];
  readonly initialCounter: number;
}

/** All programs of a simulation, by flowId. */
export type Programs = ReadonlyMap<string, Program>;

export const nonRetryableName = 'HopelessError';
