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
  /** Name of the program that has the node. */
  readonly program: string;
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
  /** SubFlows it starts and does not wait for. */
  readonly children: readonly ChildScript[];
}

/** A SubFlow that a program asks for. */
export interface ChildScript {
  readonly flow: FlowName;
  readonly input: NodeInput;
  /** undefined: one made from its parent's. */
  readonly flowId: string | undefined;
  readonly parentClose: 'terminate' | 'cancel' | 'abandon';
  readonly reuse: 'attach' | 'restartIfFailed' | 'restart';
}

export type RpcName = 'post' | 'add' | 'book' | 'swap' | 'peek';

/** What a call of an RPC or Query is told to do; its only argument. */
export interface CallScript {
  /** Entry of the Ledger that `book` locks. */
  readonly account: string;
  /** Its validator turns it down. */
  readonly rejected: boolean;
  readonly throws: boolean;
  readonly sleepMs: number;
  readonly note: string | null;
  readonly publishes: readonly Letter[];
  /** Ids of messages. */
  readonly deletes: readonly string[];
  /** Nodes of the program to go to. */
  readonly starts: readonly number[];
  readonly cancels: readonly StepName[];
  readonly children: readonly ChildScript[];
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
  | { readonly kind: 'timer'; readonly id: string; readonly afterMs: number }
  | {
      readonly kind: 'subFlow';
      readonly id: string;
      readonly child: ChildScript;
      readonly cancelWithWait: boolean;
    };

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
  | { readonly kind: 'completeIfEmpty'; readonly otherwise: number }
  | {
      readonly kind: 'continueAsNew';
      /** That the next run begins with. */
      readonly node: number;
      /** Names of the Attributes that go along; undefined: all. */
      readonly keep: readonly string[] | undefined;
      readonly cancels: CancelScript | null;
    };

export interface CancelScript {
  readonly steps: readonly StepName[];
  readonly siblingsOnly: boolean;
}

export type FlowName = 'Steady' | 'Hasty' | 'Brief';

/** What one flowId does in a run of the simulation. */
export interface Program {
  readonly name: string;
  readonly flowId: string;
  readonly flow: FlowName;
  /** Of the start; undefined: as the Flow says. */
  readonly durability: 'SYNC' | 'ASYNC' | undefined;
  readonly nodes: readonly ProgramNode[];
  readonly initialCounter: number;
  /** Of the start; undefined: as the Flow says. */
  readonly timeoutMs: number | null | undefined;
  /** The node that the handler of a time-out acts by. */
  readonly timeoutNode: number | null;
  /** Of the start; undefined: the default. */
  readonly historyLimit: number | undefined;
  readonly retentionMs: number | undefined;
  /** RPCs that clients may call. */
  readonly calls: ReadonlySet<RpcName>;
}

/** The settings of the flows that the model must know. */
export const flowSettings = {
  Steady: { start: 'Plain', durability: 'SYNC', timeoutMs: null, onTimeout: 'fail' },
  Hasty: { start: 'Waiting', durability: 'ASYNC', timeoutMs: null, onTimeout: 'handler' },
  Brief: { start: 'Plain', durability: 'SYNC', timeoutMs: 20_000, onTimeout: 'cancel' },
} as const;

/** All programs of a simulation: those of its clients, and those of SubFlows, which get their flowIds as they are asked for. */
export class Programs {
  private readonly byName = new Map<string, Program>();
  private readonly byFlow = new Map<string, Program>();

  add(program: Program): void {
    this.byName.set(program.name, program);
  }

  /** From here on the flowId runs the program of that name. */
  assign(flowId: string, name: string): Program {
    const program = { ...this.byName.get(name)!, flowId };
    this.byFlow.set(flowId, program);
    return program;
  }

  get(flowId: string): Program | undefined {
    return this.byFlow.get(flowId);
  }

  /** The nodes that an input speaks of. */
  nodesOf({ program }: NodeInput): readonly ProgramNode[] {
    return this.byName.get(program)!.nodes;
  }

  flowIds(): string[] {
    return [...this.byFlow.keys()];
  }
}

export const nonRetryableName = 'HopelessError';
