import type { LockClaim, RecoveryRecord, ScheduledBy } from '../../../core';
import type { NodeOptions, ProgramNode } from '../workload/program';
import type { Seen } from '../workload/seen';

export interface CallModel {
  readonly method: 'waitFor' | 'execute';
  readonly durability: 'SYNC' | 'ASYNC';
  readonly locks: readonly LockClaim[];
  state: 'delayed' | 'locked' | 'ready' | 'running' | 'backoff';
  attempt: number;
  /** End of delay or back-off. */
  notBefore: number;
  firstAt: number | null;
  startedAt: number;
  since: number;
  token: string | null;
  worker: string | null;
  /** An attempt that is over can have run the body. */
  entered: boolean;
  /** What every attempt of the call must see (S6). */
  expected: Seen | null;
  /** The failure of the last attempt, where no other follows. */
  exhausted: boolean;
}

export interface ConditionModel {
  readonly id: string;
  /** Of a Channel. */
  readonly address: string | undefined;
  /** Key of a SubFlow. */
  readonly child?: string;
  readonly min: number;
  readonly max: number;
  /** Of a timer. */
  readonly dueAt: number;
}

export interface WaitModel {
  /** Ids of the conditions in the order in which they are stored. */
  readonly stored: readonly string[];
  readonly conditions: readonly ConditionModel[];
  readonly candidates: readonly (readonly number[])[];
  readonly skipped: Set<number>;
}

export interface ExecutionModel {
  readonly id: string;
  readonly node: ProgramNode;
  readonly options: NodeOptions;
  readonly from: ScheduledBy;
  readonly recovery: RecoveryRecord | null;
  call: CallModel | null;
  wait: WaitModel | null;
  /** Messages by Channel that its wait consumed, and timers that had fired. */
  received: Record<string, string[]>;
  fired: string[];
  /** Keys of the SubFlows of its wait, by the ids of their conditions. */
  subFlows: ReadonlyMap<string, string>;
  local: string | null;
}

/** Executions which the same one scheduled are siblings (D6). */
export function parentOf({ from }: ExecutionModel): string {
  return 'stepExecutionId' in from ? `${from.kind} ${from.stepExecutionId}` : from.kind;
}
