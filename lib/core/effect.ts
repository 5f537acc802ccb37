import type { HoldfastError } from '../errors';
import type { Durability, MethodName } from '../plan';
import type { Failure } from '../values';
import type { ChildOutcome } from './child';
import type { LockClaim, RecoveryRecord, ScheduledBy } from './execution';
import type { Names } from './names';
import type { Tell } from './outbox';
import type { Address, Payload } from './payload';

/** Orders that follow from a decision. Whoever receives one recognises a repeat. */
export type Effect =
  | ReadyEffect
  | HandOutEffect
  | ClaimRefusedEffect
  | ResultTakenEffect
  | AbortEffect
  | AnswerEffect
  | CallReadyEffect
  | CallQueuedEffect
  | HandOutCallEffect
  | CallAnswerEffect
  | TellEffect;

/** A call may be handed out: tell the workers of its queue. */
export interface ReadyEffect {
  readonly kind: 'ready';
  readonly execution: string;
  readonly issue: number;
  readonly step: string;
  readonly taskQueue: string;
}

/** Give a worker a task: after the write for SYNC, before it for ASYNC (P2, P3). */
export interface HandOutEffect {
  readonly kind: 'handOut';
  readonly worker: string;
  readonly durability: Durability;
  readonly task: Task;
}

/** The call is no longer to be had: taken, cancelled, or not due. */
export interface ClaimRefusedEffect {
  readonly kind: 'claimRefused';
  readonly worker: string;
  readonly token: string;
}

/** The worker may forget this result; `accepted` is false for one whose token was no longer current (X4). */
export interface ResultTakenEffect {
  readonly kind: 'resultTaken';
  readonly worker: string;
  readonly token: string;
  readonly accepted: boolean;
}

/** The attempt is no longer wanted: abort its signal (O2). */
export interface AbortEffect {
  readonly kind: 'abort';
  readonly worker: string;
  readonly token: string;
  readonly reason: string;
}

/** The answer of the command itself. */
export type AnswerEffect =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'answer'; readonly error: HoldfastError };

/** Everything a worker needs for one attempt. */
export interface Task {
  readonly flowId: string;
  readonly runId: string;
  /** First run of the chain. */
  readonly chainId: string;
  /** The same over time travels too: ids of SubFlows are made from it. */
  readonly originId: string;
  readonly flow: string;
  readonly execution: string;
  readonly step: string;
  readonly method: MethodName;
  readonly attempt: number;
  readonly token: string;
  readonly input: Payload | null;
  readonly from: ScheduledBy;
  readonly attributes: readonly (readonly [address: Address, value: Payload])[];
  /** Unread messages per Channel: how many, and the first ones, as many as a peek may see. */
  readonly channels: readonly PendingMessages[];
  readonly received: readonly (readonly [address: Address, values: readonly Payload[]])[];
  /** null: the call has no wait. Otherwise the ids of the timers that fired; null for one without id. */
  readonly fired: readonly (string | null)[];
  /** Outcomes of the SubFlows of its wait that have closed, by the ids of their conditions. */
  readonly subFlows: readonly (readonly [id: string | null, flowId: string, outcome: ChildOutcome])[];
  readonly parent: { readonly flowId: string } | null;
  /** The firing of a schedule that started the run. */
  readonly schedule: { readonly id: string; readonly at: number } | null;
  readonly locals: Readonly<Record<string, Payload>>;
  readonly locks: readonly LockClaim[];
  readonly recovery: RecoveryRecord | null;
  readonly waitFailed: Failure | null;
  readonly lastHeartbeat: Payload | null;
  readonly heartbeatTimeoutMs: number;
  readonly dueAt: number | null;
  /** How the worker's plan may call what is named here (V3). */
  readonly names?: Names;
  readonly trace?: string;
}

export interface PendingMessages {
  readonly address: Address;
  readonly size: number;
  readonly first: readonly Payload[];
}

/** Send a message to another flow, and again until it has answered. */
export interface TellEffect extends Tell {
  readonly kind: 'tell';
}

/** A call may be given to a worker. */
export interface CallReadyEffect {
  readonly kind: 'callReady';
  readonly requestId: string;
}

/** A call must not be given to a worker any more: it queues for its locks again (L3). */
export interface CallQueuedEffect {
  readonly kind: 'callQueued';
  readonly requestId: string;
}

export interface HandOutCallEffect {
  readonly kind: 'handOutCall';
  readonly worker: string;
  readonly task: CallTask;
}

/** Answer everybody who waits for the call. */
export type CallAnswerEffect =
  | { readonly kind: 'callAnswer'; readonly requestId: string; readonly value: Payload }
  | {
      readonly kind: 'callAnswer';
      readonly requestId: string;
      readonly error: HoldfastError;
      /** What the handler threw. */
      readonly failure?: Failure;
    };

/** Everything a worker needs for one call of an RPC or Query. */
export interface CallTask {
  readonly flowId: string;
  readonly runId: string;
  readonly flow: string;
  /** First run of the chain. */
  readonly chainId: string;
  /** The same over time travels too: ids of SubFlows are made from it. */
  readonly originId: string;
  readonly rpc: string;
  readonly kind: 'rpc' | 'query';
  readonly requestId: string;
  readonly token: string;
  readonly args: Payload;
  readonly attributes: readonly (readonly [address: Address, value: Payload])[];
  readonly channels: readonly PendingMessages[];
  readonly locks: readonly LockClaim[];
  /** Silence of its worker after which it is given to another. */
  readonly silenceMs: number;
  readonly names?: Names;
  readonly trace?: string;
}
