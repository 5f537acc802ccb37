import type {
  CallCommand,
  CallResultCommand,
  CallTask,
  PublishCommand,
  ResultCommand,
  SkipTimerCommand,
  StartAndCallCommand,
  StartAndPublishCommand,
  StartCommand,
  StopCommand,
  Task,
  UpdateConfigCommand,
} from '../core';
import type { ErrorCode } from '../errors';
import type { FlowPlan } from '../plan';
import type { Dispatch, Inbox } from '../ports';
import type { Failure } from '../values';

/** What the owner of a shard receives. */
export type ToShard = Request | CallRequest | Read | Result | CallResult | Beat | Introduce | Leave;

export type ClientCommand =
  | StartCommand
  | StartAndPublishCommand
  | PublishCommand
  | StopCommand
  | SkipTimerCommand
  | UpdateConfigCommand;

/** A client's command; answered after all it saw is durable (P4). */
export interface Request {
  readonly kind: 'request';
  /** Of this message, for its answer; a repeat of the command has a new one. */
  readonly id: string;
  readonly replyTo: string;
  readonly flowId: string;
  readonly command: ClientCommand;
}

/** A call of an RPC or Query; answered when its handler has run, and all it saw and wrote is durable (R). */
export interface CallRequest {
  readonly kind: 'call';
  readonly id: string;
  readonly replyTo: string;
  readonly flowId: string;
  readonly command: CallCommand | StartAndCallCommand;
  /** From its arrival (R8). */
  readonly deadlineMs: number;
}

export interface CallResult {
  readonly kind: 'callResult';
  readonly flowId: string;
  readonly command: CallResultCommand;
}

export interface Read {
  readonly kind: 'read';
  readonly id: string;
  readonly replyTo: string;
  readonly flowId: string;
  /** null: the latest run. */
  readonly runId: string | null;
  readonly what: ReadWhat;
}

export type ReadWhat =
  | { readonly kind: 'describe' }
  | { readonly kind: 'attributes' }
  | { readonly kind: 'history'; readonly from: number; readonly limit: number }
  /** Answered when the run has closed. */
  | { readonly kind: 'outcome' }
  /** Answered when that execution has ended, in any way. */
  | { readonly kind: 'stepEnd'; readonly execution: string };

export interface Result {
  readonly kind: 'result';
  readonly flowId: string;
  readonly command: ResultCommand;
}

/** A process with user code makes itself known: its plans are kept (V2) and, if it is a worker, it gets tasks. */
export interface Introduce {
  readonly kind: 'introduce';
  readonly process: string;
  readonly plans: readonly FlowPlan[];
  /** null: it runs no Steps. */
  readonly worker: WorkerOffer | null;
}

export interface WorkerOffer {
  /** Tasks it runs at a time (X13). */
  readonly slots: number;
  /** RPCs and Queries it runs at a time (X13). */
  readonly callSlots: number;
  /** null: all. */
  readonly taskQueues: readonly string[] | null;
}

/** A worker process lives and its event loop turns (X2). One a process and shard, whatever it runs. */
export interface Beat {
  readonly kind: 'beat';
  readonly process: string;
  /** Tokens of this shard that it holds, or whose result it has not seen taken. */
  readonly tokens: readonly string[];
  /** Newest heartbeat values since the last beat (X3). */
  readonly values: readonly {
    readonly flowId: string;
    readonly execution: string;
    readonly token: string;
    readonly value: Uint8Array | null;
  }[];
}

/** The process takes no more tasks. */
export interface Leave {
  readonly kind: 'leave';
  readonly process: string;
}

/** What a client or worker process receives. */
export type ToProcess = Answer | HandOut | HandOutCall | ResultTaken | Abort;

export type Answer =
  | { readonly kind: 'answer'; readonly id: string; readonly value: unknown }
  | { readonly kind: 'answer'; readonly id: string; readonly error: WireError };

export interface HandOut {
  readonly kind: 'handOut';
  readonly shard: number;
  readonly task: Task;
}

export interface HandOutCall {
  readonly kind: 'handOutCall';
  readonly shard: number;
  readonly task: CallTask;
}

export interface ResultTaken {
  readonly kind: 'resultTaken';
  readonly token: string;
  readonly accepted: boolean;
}

export interface Abort {
  readonly kind: 'abort';
  readonly token: string;
  readonly reason: string;
}

export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly where?: string;
  readonly fix?: string;
  /** What user code threw. */
  readonly failure?: Failure;
}

export type HoldfastDispatch = Dispatch<ToShard, ToProcess>;
export type ShardInbox = Inbox<ToShard>;
