import type { ScheduledBy } from '../authoring/context';
import type { Durability, MethodName, StepOverrides } from '../plan';
import type { Failure } from '../values';
import type { Address, Payload } from './payload';
import type { Row } from './table';

/** One execution of a Step: scheduled, perhaps waiting, executed, gone. */
export interface Execution extends Row {
  readonly id: string;
  readonly step: string;
  /** null: no input. A large input is a blob of its own, so that a retry does not write it again. */
  readonly input: Kept | null;
  readonly from: ScheduledBy;
  readonly overrides: StepOverrides | null;
  readonly locals: Readonly<Record<string, Kept>>;
  readonly recovery: RecoveryRecord | null;
  readonly waitFailed: Failure | null;
  /** Set while it waits. */
  readonly wait: WaitState | null;
  /** What its wait won, for `execute`. */
  readonly won: Won | null;
  /** The method call that is to be made or is being made; null while it waits. */
  readonly call: Call | null;
}

export type { ScheduledBy };

/** A payload, or, where it is large, the key of the blob that holds it. */
export type Kept = Payload | string;

export interface RecoveryRecord {
  readonly stepExecutionId: string;
  readonly failure: Failure;
  readonly attempts: number;
  readonly progress: Progress;
}

export type Progress = 'NOT_STARTED' | 'NOT_COMPLETED';

/**
 * `delayed`: not to be looked at before `dueAt`. `locked`: queued for its locks. `ready`: a worker may take it. `backoff`: a
 * worker may take it from `dueAt` on; its locks are kept. `running`: handed out under `token`.
 */
export type CallState = 'delayed' | 'locked' | 'ready' | 'backoff' | 'running';

export interface Call {
  readonly method: MethodName;
  readonly state: CallState;
  /** New each time the call becomes ready or queues for locks: tells a claim for this issue from one for an older. */
  readonly issue: number;
  readonly attempt: number;
  readonly locks: readonly LockClaim[];
  /** When the state was entered. */
  readonly since: number;
  /** End of back-off, of the attempt's time, or of the time in the queue; null for none. */
  readonly dueAt: number | null;
  /** First hand-out of this call. */
  readonly firstAt: number | null;
  /** Event number whose state all attempts of this call see (S6). */
  readonly snapshot: number | null;
  readonly token: string | null;
  readonly worker: string | null;
  /** As resolved when the call was scheduled (P1). */
  readonly durability: Durability;
  readonly lastFailure: Failure | null;
  /** What the latest heartbeat said that is known (X3). */
  readonly heartbeat: Kept | null;
  /** Whether an attempt that is over can have entered the handler (X9). */
  readonly entered: boolean;
}

/** A call of which no attempt was handed out. */
export const untried = {
  attempt: 0,
  firstAt: null,
  snapshot: null,
  token: null,
  worker: null,
  lastFailure: null,
  heartbeat: null,
  entered: false,
} as const satisfies Partial<Call>;

export interface LockClaim {
  readonly address: Address;
  readonly mode: 'shared' | 'exclusive';
}

export type ConditionSpec =
  | {
      readonly kind: 'channel';
      readonly id: string | null;
      readonly address: Address;
      readonly min: number;
      /** null: all there are. */
      readonly max: number | null;
    }
  | { readonly kind: 'timer'; readonly id: string | null; readonly dueAt: number }
  | { readonly kind: 'subFlow'; readonly id: string | null; readonly key: string; readonly cancelWithWait: boolean };

export interface WaitState {
  readonly conditions: readonly ConditionSpec[];
  /** Candidates in the order in which they are tried; each lists the conditions which must all hold. */
  readonly candidates: readonly (readonly number[])[];
  /** Conditions that count as fired by `skipTimer`. */
  readonly skipped: readonly number[];
  readonly since: number;
  /** Place among all waits and calls of the run, in the order in which they began. */
  readonly issue: number;
}

export interface Won {
  /** Number of the event. */
  readonly at: number;
  readonly conditions: readonly ConditionSpec[];
  readonly candidate: readonly number[];
  /** Message keys that each winning Channel condition consumed. */
  readonly messages: readonly (readonly [condition: number, keys: readonly string[]])[];
  /** Timer conditions that had fired when the candidate won, or were skipped. */
  readonly fired: readonly number[];
}
