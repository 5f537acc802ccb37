import type { Durability, FlowConfig, MethodName, StepOverrides } from '../plan';
import type { Failure } from '../values';
import type { ChainEvent } from './chain-event';
import type { ChildRequest, ParentLink } from './child';
import type { ConditionSpec, LockClaim, Progress, RecoveryRecord, ScheduledBy } from './execution';
import type { Names } from './names';
import type { Address, Payload } from './payload';
import type { SubFlowEvent } from './subflow-event';

/** Facts of one run, in order; its history. `at` is the shard's clock. Folding them with `apply` gives the run's state. */
export type Event = { readonly at: number } & EventBody;

export type EventBody =
  | FlowStarted
  | ConfigChanged
  | NamesLearned
  | StepScheduled
  | StepDue
  | LocksGranted
  | LocksReturned
  | AttemptStarted
  | AttemptFailed
  | AttemptReturned
  | WaitForCompleted
  | WaitForProceeded
  | WaitSatisfied
  | ExecuteCompleted
  | StepFailed
  | StepCancelled
  | MessagePublished
  | TimerSkipped
  | RpcCompleted
  | SubFlowEvent
  | CloseChecked
  | ChainEvent
  | HistoryRolled
  | FlowClosing
  | FlowClosed;

export interface FlowStarted {
  readonly kind: 'FlowStarted';
  readonly flowId: string;
  readonly runId: string;
  readonly flow: string;
  readonly plan: string;
  readonly requestId: string;
  readonly config: FlowConfig;
  readonly deadlineAt: number | null;
  readonly attributes: readonly AttributeWrite[];
  /** The Flow whose SubFlow it is. */
  readonly parent?: ParentLink;
  readonly names?: Names;
  readonly trace?: string;
}

/** Code with other names for what the run stores has met it (V3). */
export interface NamesLearned {
  readonly kind: 'NamesLearned';
  readonly names: Names;
}

/** Applies to methods scheduled from here on (F9). */
export interface ConfigChanged {
  readonly kind: 'ConfigChanged';
  readonly config: FlowConfig;
}

export interface StepScheduled {
  readonly kind: 'StepScheduled';
  readonly execution: string;
  readonly step: string;
  readonly call: CallTerms;
  readonly input: Payload | null;
  readonly from: ScheduledBy;
  readonly overrides: StepOverrides | null;
  readonly recovery: RecoveryRecord | null;
  /** Not before this time (F6); null: at once. */
  readonly notBefore: number | null;
}

/** What is settled for a method call when it is scheduled, and holds for all its attempts. */
export interface CallTerms {
  readonly method: MethodName;
  readonly durability: Durability;
  readonly locks: readonly LockClaim[];
  /** By when a worker must have taken it; null: any time, or not ready yet. */
  readonly startBy: number | null;
}

/** The delay of an execution is over (F6). */
export interface StepDue {
  readonly kind: 'StepDue';
  readonly execution: string;
  readonly startBy: number | null;
}

export interface LocksGranted {
  readonly kind: 'LocksGranted';
  readonly execution: string;
  readonly startBy: number | null;
}

/** The locks went back because no worker took the call while others waited for them (L3). */
export interface LocksReturned {
  readonly kind: 'LocksReturned';
  readonly execution: string;
  /** Others that it takes from now on, where new code declares others. */
  readonly locks?: readonly LockClaim[];
}

export interface AttemptStarted {
  readonly kind: 'AttemptStarted';
  readonly execution: string;
  readonly method: MethodName;
  readonly attempt: number;
  readonly token: string;
  readonly worker: string;
  readonly plan: string;
  readonly durability: Durability;
  readonly dueAt: number | null;
}

export interface AttemptFailed {
  readonly kind: 'AttemptFailed';
  readonly execution: string;
  readonly method: MethodName;
  readonly attempt: number;
  readonly token: string | null;
  readonly failure: Failure;
  /** undefined: as before; null: cleared (X3). */
  readonly heartbeat?: Payload | null;
  /** When the next attempt may start; null: there is none. */
  readonly retryAt: number | null;
}

/** The worker gave the task back; no attempt is used (X6). */
export interface AttemptReturned {
  readonly kind: 'AttemptReturned';
  readonly execution: string;
  readonly token: string;
  readonly entered: boolean;
  /** undefined: as before; null: cleared (X3). */
  readonly heartbeat?: Payload | null;
  readonly startBy: number | null;
}

/** What a method staged, saved with its result (S5). */
export interface Staged {
  readonly attributes: readonly AttributeWrite[];
  readonly publishes: readonly (readonly [address: Address, value: Payload])[];
  readonly locals: Readonly<Record<string, Payload>>;
  readonly recorded: readonly { readonly name: string; readonly data: Payload | null }[];
  readonly children: readonly ChildRequest[];
}

/** null deletes. */
export type AttributeWrite = readonly [address: Address, value: Payload | null];

export interface WaitForCompleted {
  readonly kind: 'WaitForCompleted';
  readonly execution: string;
  readonly token: string;
  readonly staged: Staged;
  readonly conditions: readonly ConditionSpec[];
  readonly candidates: readonly (readonly number[])[];
}

/** `waitFor` had used up its attempts and the policy is `proceed` (X7). */
export interface WaitForProceeded {
  readonly kind: 'WaitForProceeded';
  readonly execution: string;
  readonly failure: Failure;
  readonly call: CallTerms;
}

export interface WaitSatisfied {
  readonly kind: 'WaitSatisfied';
  readonly execution: string;
  readonly candidate: number;
  readonly messages: readonly (readonly [condition: number, keys: readonly string[]])[];
  readonly fired: readonly number[];
  readonly call: CallTerms;
}

export type DecisionKind =
  | 'goTo'
  | 'gracefulComplete'
  | 'forceComplete'
  | 'forceFail'
  | 'deadEnd'
  | 'completeIfEmpty'
  | 'continueAsNew';

/** A decision to complete if Channels are empty, until started RPCs have ended and it can be tested (D5). */
export interface CloseCheck {
  readonly execution: string;
  readonly channels: readonly string[];
  readonly output: Payload | null;
  readonly otherwise: {
    readonly step: string;
    readonly input: Payload | null;
    readonly overrides: StepOverrides | null;
  };
}

export interface ExecuteCompleted {
  readonly kind: 'ExecuteCompleted';
  readonly execution: string;
  readonly token: string;
  readonly staged: Staged;
  readonly decision: DecisionKind;
  /** undefined: the decision gave no output. */
  readonly output?: Payload;
  /** For `completeIfEmpty`. */
  readonly check?: CloseCheck;
}

/** All attempts are used up, or the failure is not retried. `recovery` names the execution that takes over. */
export interface StepFailed {
  readonly kind: 'StepFailed';
  readonly execution: string;
  readonly failure: Failure;
  readonly attempts: number;
  readonly progress: Progress;
  readonly recovery: string | null;
}

export interface StepCancelled {
  readonly kind: 'StepCancelled';
  readonly execution: string;
  readonly reason: string;
}

export interface MessagePublished {
  readonly kind: 'MessagePublished';
  readonly address: Address;
  readonly messageId: string;
  readonly value: Payload;
  /** After a time travel (K4). */
  readonly again?: true;
}

export interface TimerSkipped {
  readonly kind: 'TimerSkipped';
  readonly execution: string;
  readonly condition: number;
}

/** An RPC's writes and answer, in one write (R3). Queries, rejections and failures leave no event. */
export interface RpcCompleted {
  readonly kind: 'RpcCompleted';
  readonly rpc: string;
  readonly requestId: string;
  readonly args: Payload;
  readonly answer: Payload;
  readonly staged: Staged;
  /** Unread messages it deleted, by id (C4). */
  readonly deleted: readonly string[];
  /** Steps whose executions it cancelled; absent for none. */
  readonly cancels?: readonly string[];
  /** After a time travel (K4). */
  readonly again?: true;
}

/** The oldest `completeIfEmpty` was tested: with `empty` the Flow closes, else its branch goes on (D5). */
export interface CloseChecked {
  readonly kind: 'CloseChecked';
  readonly empty: boolean;
}

/** Closing has begun: Steps are cancelled, RPCs that had started are still finished (R9). */
export interface FlowClosing {
  readonly kind: 'FlowClosing';
  readonly status: ClosedStatus;
  readonly failKind: FailKind | null;
  readonly failure: Failure | null;
}

/** Older events than these are let go after the retention (N3). */
export interface HistoryRolled {
  readonly kind: 'HistoryRolled';
}

export type ClosedStatus = 'completed' | 'failed' | 'cancelled' | 'terminated' | 'continuedAsNew';
export type FailKind = 'decision' | 'worker' | 'client' | 'timeout' | 'definition' | 'internal';

export interface FlowClosed {
  readonly kind: 'FlowClosed';
  readonly status: ClosedStatus;
  /** Only for `failed` (F10). */
  readonly failKind: FailKind | null;
  readonly failure: Failure | null;
  /** The run that goes on, for `continuedAsNew`. */
  readonly nextRunId?: string;
}
