import type { ChildOutcome, ClosedStatus, FailKind, ParentClose } from '../core';
import type { FlowConfig, MethodName } from '../plan';
import type { Failure } from '../values';

/**
 * What `describe` tells of a run. Every list holds at most its first [100]; `counts` says how many there are, so that the
 * description of a run with 10,000 executions is no larger.
 */
export interface RunDescription {
  readonly flowId: string;
  readonly runId: string;
  readonly flow: string;
  readonly status: 'running' | ClosedStatus;
  readonly failKind: FailKind | null;
  readonly failure: Failure | null;
  readonly startedAt: number;
  readonly closedAt: number | null;
  readonly deadlineAt: number | null;
  readonly plan: string;
  readonly config: FlowConfig;
  /** Events of this run. */
  readonly events: number;
  /** Of a chain made by continue-as-new or time travel. */
  readonly previousRunId: string | null;
  readonly nextRunId: string | null;
  /** A branch asked for graceful completion (D2). */
  readonly completing: boolean;
  /** How it is about to close, once started RPCs have ended (R9); null: it is not closing. */
  readonly closing: ClosedStatus | null;
  readonly counts: RunCounts;
  /** Open executions, the oldest first. */
  readonly steps: readonly StepDescription[];
  /** Timers that waits are waiting for, the next to fire first. */
  readonly timers: readonly TimerDescription[];
  /** The last failure of every open execution that had one, the latest first. */
  readonly failures: readonly FailureDescription[];
  readonly unread: readonly { readonly channel: string; readonly key: string | undefined; readonly messages: number }[];
  readonly locks: readonly LockDescription[];
  readonly children: readonly ChildDescription[];
  /** Flows whose SubFlow this is. */
  readonly parents: readonly { readonly flowId: string }[];
  /** The schedule that started it, and the time for which it did. */
  readonly schedule: { readonly id: string; readonly at: number } | null;
  /** Steps that are to run and that no worker has which looked for work (V3). */
  readonly blocked: readonly string[];
  /** Executions scheduled so far per Step. */
  readonly scheduled: Readonly<Record<string, number>>;
}

export interface RunCounts {
  readonly steps: number;
  readonly byState: Readonly<Record<StepDescription['state'], number>>;
  readonly timers: number;
  readonly failures: number;
  /** Channels, or keys of Channel maps, with unread messages, and these. */
  readonly unreadChannels: number;
  readonly unreadMessages: number;
  readonly locks: number;
  readonly children: number;
}

export interface StepDescription {
  readonly stepExecutionId: string;
  readonly step: string;
  readonly state: 'waiting' | 'delayed' | 'locked' | 'ready' | 'backoff' | 'running';
  /** The call that is to be made or is being made; null while it waits. */
  readonly method: MethodName | null;
  readonly attempt: number;
  readonly since: number;
  /** The next timer of a wait, the end of back-off, or of the attempt's time. */
  readonly dueAt: number | null;
  /** When the next attempt may start, in `backoff`. */
  readonly nextRetryAt: number | null;
  /** Process that has the attempt. */
  readonly worker: string | null;
  readonly lastFailure: BriefFailure | null;
  /** What it waits for: the first [20] conditions. */
  readonly waitsFor: readonly ConditionDescription[];
}

export type ConditionDescription =
  | {
      readonly kind: 'channel';
      readonly id: string | null;
      readonly channel: string;
      readonly key: string | undefined;
      readonly min: number;
      /** null: all there are. */
      readonly max: number | null;
    }
  | { readonly kind: 'timer'; readonly id: string | null; readonly dueAt: number; readonly skipped: boolean }
  | { readonly kind: 'subFlow'; readonly id: string | null; readonly flowId: string | undefined };

export interface TimerDescription {
  readonly stepExecutionId: string;
  readonly id: string | null;
  readonly dueAt: number;
}

/** A failure without stack and causes; the history has it whole. */
export interface BriefFailure {
  readonly name: string;
  readonly message: string;
}

export interface FailureDescription extends BriefFailure {
  readonly stepExecutionId: string;
  readonly method: MethodName;
  readonly attempt: number;
}

export interface LockDescription {
  readonly attribute: string;
  readonly key: string | undefined;
  readonly holders: readonly string[];
  readonly waiting: readonly string[];
}

export interface ChildDescription {
  readonly flowId: string;
  readonly flow: string;
  /** null until its start is confirmed. */
  readonly runId: string | null;
  readonly status: 'held' | 'starting' | 'running' | ChildOutcome['status'];
  readonly parentClose: ParentClose;
  /** The execution that waits for it; null for one that nobody waits for. */
  readonly stepExecutionId: string | null;
}
