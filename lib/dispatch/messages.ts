import type {
  Address,
  CallCommand,
  CallResultCommand,
  CallTask,
  ChangeScheduleCommand,
  FlowMessage,
  PublishCommand,
  RegisterScheduleCommand,
  ResultCommand,
  SkipTimerCommand,
  StartAndCallCommand,
  StartAndPublishCommand,
  StartCommand,
  StopCommand,
  Task,
  TimeTravelRequest,
  UpdateConfigCommand,
} from '../core';
import type { ErrorCode } from '../errors';
import type { FlowPlan } from '../plan';
import type { AnyHint, Dispatch, Inbox } from '../ports';
import type { Failure } from '../values';

/** What the owner of a shard receives. */
/** A message of another flow (U). */
export interface FlowTell {
  readonly kind: 'tell';
  readonly flowId: string;
  readonly command: FlowMessage;
}

export type ToShard =
  | Presence
  | FlowTell
  | Request
  | CallRequest
  | Read
  | IndexRequest
  | Claim
  | Result
  | CallResult
  | Beat
  | Introduce
  | Leave;

export type ClientCommand =
  | StartCommand
  | StartAndPublishCommand
  | PublishCommand
  | StopCommand
  | SkipTimerCommand
  | UpdateConfigCommand
  | RegisterScheduleCommand
  | ChangeScheduleCommand
  | TimeTravelRequest;

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
  /** Of a schedule's flowId. */
  | { readonly kind: 'schedule' }
  /** Those of the shard, from the one after that flowId on. */
  | { readonly kind: 'schedules'; readonly after: string | null; readonly limit: number }
  | { readonly kind: 'history'; readonly from: number; readonly limit: number }
  /** Answered when the run has closed. */
  | { readonly kind: 'outcome' }
  /** Answered when the Attribute is another than it was when `seen` was given, or the run has closed. */
  | { readonly kind: 'attribute'; readonly address: Address; readonly seen: string | null }
  /** Of the shard: what open runs have and these plans lack, from the run after that one on (V2). */
  | { readonly kind: 'code'; readonly plans: readonly string[]; readonly after: string; readonly limit: number }
  /** Answered when that execution has ended, in any way. */
  | { readonly kind: 'stepEnd'; readonly execution: string };

/** Asks the owner about its part of the index; answered with an `IndexState` when that is done. */
export interface IndexRequest {
  readonly kind: 'index';
  readonly id: string;
  readonly replyTo: string;
  readonly ask: IndexAsk;
}

export type IndexAsk =
  | { readonly kind: 'state' }
  /** What is saved is to be in the index, and a rebuild done. */
  | { readonly kind: 'settle' }
  /** All runs are to be written anew; a repeat names the same feed. */
  | { readonly kind: 'rebuild'; readonly feed: string };

export interface Result {
  readonly kind: 'result';
  readonly flowId: string;
  readonly command: ResultCommand;
  /** Absent from a standing worker, whose slots the engine counts itself. */
  readonly offer?: SlotOffer;
}

/** Slots that a worker keeps free for the shard until it is answered: it gives ready Steps for them at once. */
export interface SlotOffer {
  readonly free: number;
  /** null: all. */
  readonly taskQueues: readonly string[] | null;
}

/** A worker that read a hint wants to run its call; answered by a hand-out or a refusal that names the claim. */
export interface Claim {
  readonly kind: 'claim';
  /** New for each claim; a repeat has the same one. */
  readonly id: string;
  readonly process: string;
  readonly hint: Hint;
  readonly flowId: string;
  /** Fingerprint of the plan that the worker would run it by. */
  readonly plan: string;
}

/** A call that waits for a worker: no input, only where to claim it. */
export type Hint = StepHint | CallHint;

export interface StepHint extends AnyHint {
  readonly kind: 'step';
  readonly shard: number;
  readonly flowId: string;
  readonly runId: string;
  readonly execution: string;
  readonly issue: number;
  readonly step: string;
  readonly taskQueue: string;
  /** See `QueuePolicy`. */
  readonly limitKey?: string;
  readonly priority?: number;
}

export interface CallHint extends AnyHint {
  readonly kind: 'call';
  readonly shard: number;
  readonly flowId: string;
  readonly requestId: string;
  readonly rpc: string;
  readonly taskQueue: null;
}

/** A process with user code makes itself known: its plans are kept (V2) and, if it is a worker, it gets tasks. */
export interface Introduce {
  readonly kind: 'introduce';
  readonly process: string;
  readonly plans: readonly FlowPlan[];
  /** null: it runs nothing, or claims what it runs. */
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

/** A worker that looks for work by itself is there. */
export interface Presence {
  readonly kind: 'presence';
  readonly process: string;
  /** Fingerprints. */
  readonly plans: readonly string[];
}

/** The process takes no more tasks. */
export interface Leave {
  readonly kind: 'leave';
  readonly process: string;
}

/** What a client or worker process receives. */
export type ToProcess = Answer | HandOut | HandOutCall | ClaimRefused | ResultTaken | Abort | Unknown;

export type Answer =
  | { readonly kind: 'answer'; readonly id: string; readonly value: unknown }
  | { readonly kind: 'answer'; readonly id: string; readonly error: WireError };

export interface HandOut {
  readonly kind: 'handOut';
  readonly shard: number;
  readonly task: Task;
  /** The claim that this answers; absent where the engine gave it by itself. */
  readonly claim?: string;
}

export interface HandOutCall {
  readonly kind: 'handOutCall';
  readonly shard: number;
  readonly task: CallTask;
  /** The claim that this answers; absent where the engine gave it by itself. */
  readonly claim?: string;
}

export interface ClaimRefused {
  readonly kind: 'claimRefused';
  readonly claim: string;
  /** `gone`: nobody needs the hint any more. `lacking`: the worker's plan does not have it. */
  readonly reason: 'gone' | 'lacking';
}

/** The shard does not know a plan of this process: it should introduce itself again, and repeat what it wanted. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly shard: number;
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

export type HoldfastDispatch = Dispatch<ToShard, ToProcess, Hint>;
export type ShardInbox = Inbox<ToShard>;
