import type { FlowConfig } from '../plan';
import type { Failure } from '../values';
import type { ParentLink } from './child';
import type { AttributeWrite, Staged } from './event';
import type { FlowMessage } from './flow-message';
import type { MovementRequest, Outcome } from './outcome';
import type { Address, Payload } from './payload';
import type { ChangeScheduleCommand, RegisterScheduleCommand } from './schedule-command';
import type { TimeTravelCommand } from './travel-command';

export type * from './outcome';

/** What is asked of one flowId. Every command that may arrive twice carries an id by which the repeat is known (I1). */
export type Command =
  | StartCommand
  | PublishCommand
  | StopCommand
  | SkipTimerCommand
  | UpdateConfigCommand
  | RegisterScheduleCommand
  | ChangeScheduleCommand
  | TimeTravelCommand
  | ClaimCommand
  | ResultCommand
  | DueCommand
  | RollCommand
  | WorkerGoneCommand
  | HeartbeatCommand
  | CallCommand
  | StartAndCallCommand
  | StartAndPublishCommand
  | CallStartCommand
  | CallResultCommand
  | CallGoneCommand
  | CallIdleCommand
  | FlowMessage;

export type IdReuse = 'reject' | 'ifPreviousFailed' | 'ifClosed' | 'terminateRunning';

export interface StartCommand {
  readonly kind: 'start';
  readonly requestId: string;
  /** Of the content, to tell a repeat from another request under the same id (I2). */
  readonly digest: string;
  readonly plan: string;
  readonly runId: string;
  readonly input: Payload | null;
  readonly attributes: readonly AttributeWrite[];
  readonly reuse: IdReuse;
  readonly startDelayMs: number;
  /** undefined: as the Flow says; null: none. */
  readonly timeoutMs?: number | null;
  readonly config: Partial<FlowConfig>;
  /** The Flow whose SubFlow it is. */
  readonly parent?: ParentLink;
  /** Trace context of whoever starts it (K5). */
  readonly trace?: string;
}

export interface PublishCommand {
  readonly kind: 'publish';
  /** Only to a run of this chain [to the open run]. */
  readonly chainId?: string;
  readonly plan: string;
  readonly messages: readonly {
    readonly id: string;
    readonly digest: string;
    readonly address: Address;
    readonly value: Payload;
  }[];
}

export type StopHow = 'cancel' | 'fail' | 'terminate';

export interface StopCommand {
  readonly kind: 'stop';
  readonly requestId: string;
  readonly digest: string;
  readonly how: StopHow;
  readonly reason: string;
  /** Only a run of this chain [the latest run]. */
  readonly chainId?: string;
}

export interface SkipTimerCommand {
  readonly kind: 'skipTimer';
  readonly requestId: string;
  readonly digest: string;
  readonly execution: string;
  /** Id of the timer, or null where the wait has only one. */
  readonly timer: string | null;
}

/** Changes the settings of a running Flow; applies to methods scheduled later (F9). */
export interface UpdateConfigCommand {
  readonly kind: 'updateConfig';
  readonly requestId: string;
  readonly digest: string;
  readonly config: Partial<FlowConfig>;
}

/** A worker wants to run a call: the answer is the hand-out. `token` is made by the engine, new each time (X4). */
export interface ClaimCommand {
  readonly kind: 'claim';
  readonly runId: string;
  readonly execution: string;
  readonly issue: number;
  readonly worker: string;
  readonly plan: string;
  readonly token: string;
}

export interface ResultCommand {
  readonly kind: 'result';
  readonly runId: string;
  readonly execution: string;
  readonly token: string;
  readonly worker: string;
  readonly plan: string;
  readonly outcome: Outcome;
}

/** Time has come for something in this run. */
export interface DueCommand {
  readonly kind: 'due';
  /** Look at everything that waits, after a take-over: the former owner may have had to put it off (R7). */
  readonly all?: boolean;
}

/** The history has reached its limit (N3). */
export interface RollCommand {
  readonly kind: 'roll';
}

/** A worker process was not heard of for so long, or is known to be gone (null): attempts of it fail (X2). */
export interface WorkerGoneCommand {
  readonly kind: 'workerGone';
  readonly worker: string;
  /** The attempts and calls that do not allow so long a silence; null: all it has. */
  readonly tokens: readonly string[] | null;
  readonly silentMs: number | null;
}

/** The newest value of a running attempt's heartbeat; remembered in memory only (X3). */
export interface HeartbeatCommand {
  readonly kind: 'heartbeat';
  readonly execution: string;
  readonly token: string;
  readonly value: Payload | null;
}

/** A client calls an RPC or Query (R). Only an RPC's answer is remembered. */
export interface CallCommand {
  readonly kind: 'call';
  readonly requestId: string;
  readonly digest: string;
  readonly plan: string;
  readonly flow: string;
  readonly rpc: string;
  /** The arguments, as one array. */
  readonly args: Payload;
  /** Trace context of the caller (K5). */
  readonly trace?: string;
}

/** A worker takes a call; `token` is made by the engine. */
export interface CallStartCommand {
  readonly kind: 'callStart';
  readonly requestId: string;
  readonly token: string;
  readonly worker: string;
  readonly plan: string;
}

export interface CallResultCommand {
  readonly kind: 'callResult';
  readonly requestId: string;
  readonly token: string;
  readonly worker: string;
  readonly plan: string;
  readonly outcome: CallOutcome;
}

export type CallOutcome = CallAnswered | CallFailed;

export interface CallAnswered {
  readonly kind: 'answered';
  readonly answer: Payload;
  readonly staged: Staged;
  readonly movements: readonly MovementRequest[];
  /** Steps whose executions are cancelled in the whole Flow. */
  readonly cancels: readonly string[];
  /** Ids of unread messages to delete. */
  readonly deleted: readonly string[];
}

/** The validator turned it down, or the handler threw (R4, R5). */
export interface CallFailed {
  readonly kind: 'failed';
  readonly code: 'RPC_REJECTED' | 'RPC_FAILED' | 'DEFINITION';
  readonly failure: Failure;
}

/** The deadline of an open call has passed. */
export interface CallGoneCommand {
  readonly kind: 'callGone';
  readonly requestId: string;
}

/** A call has been ready for a while, and no worker has taken it. */
export interface CallIdleCommand {
  readonly kind: 'callIdle';
  readonly requestId: string;
}

/** Starts the Flow if it is not running, and calls; all or nothing (R10). */
export interface StartAndCallCommand extends Omit<CallCommand, 'kind'> {
  readonly kind: 'startAndCall';
  readonly start: StartCommand;
}

/** Starts the Flow if it is not running, and publishes, in one write (R10). */
export interface StartAndPublishCommand {
  readonly kind: 'startAndPublish';
  readonly requestId: string;
  readonly digest: string;
  readonly plan: string;
  readonly start: StartCommand;
  readonly messages: PublishCommand['messages'];
}
