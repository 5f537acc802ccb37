import type { ClosedStatus, FailKind } from '../core';
import { type Address, type Execution, keyOf, nameOf, type Payload, type RunState } from '../core';
import type { FlowConfig, MethodName } from '../plan';
import type { Failure } from '../values';

/** What `describe` tells of a run. */
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
  /** Of a chain made by continue-as-new. */
  readonly previousRunId: string | null;
  readonly nextRunId: string | null;
  /** A branch asked for graceful completion (D2). */
  readonly completing: boolean;
  readonly steps: readonly StepDescription[];
  readonly unread: readonly { readonly channel: string; readonly key: string | undefined; readonly messages: number }[];
  readonly locks: readonly {
    readonly attribute: string;
    readonly key: string | undefined;
    readonly holders: readonly string[];
    readonly waiting: readonly string[];
  }[];
  /** Steps that are to run and that no worker has which looked for work (V3). */
  readonly blocked: readonly string[];
  /** Executions scheduled so far per Step. */
  readonly scheduled: Readonly<Record<string, number>>;
}

export interface StepDescription {
  readonly stepExecutionId: string;
  readonly step: string;
  readonly state: 'waiting' | 'delayed' | 'locked' | 'ready' | 'backoff' | 'running';
  /** The call that is to be made or is being made; null while it waits. */
  readonly method: MethodName | null;
  readonly attempt: number;
  readonly since: number;
  /** Timers of a wait, the end of back-off, or of the attempt's time. */
  readonly dueAt: number | null;
  readonly lastFailure: Failure | null;
}

/** Limits what one description lists of a very wide run. */
const describedSteps = 1_000;

export function describeRun(run: RunState, blocked: readonly string[] = []): RunDescription {
  const { head } = run;
  return {
    flowId: head.flowId,
    runId: head.runId,
    flow: head.flow,
    status: head.status,
    failKind: head.failKind,
    failure: head.failure,
    startedAt: head.startedAt,
    closedAt: head.closedAt,
    deadlineAt: head.deadlineAt,
    plan: head.plan,
    config: head.config,
    events: head.events - head.base,
    previousRunId: head.previousRunId,
    nextRunId: head.nextRunId,
    completing: head.completing,
    steps: [...run.executions.values()].slice(0, describedSteps).map(describeStep),
    unread: [...run.messages.allUnread()].map(([address, queue]) => ({
      channel: nameOf(address),
      key: keyOf(address),
      messages: queue.size,
    })),
    locks: run.locks.describe().map(({ address, holders, waiting }) => ({
      attribute: nameOf(address),
      key: keyOf(address),
      holders,
      waiting,
    })),
    blocked,
    scheduled: head.counters,
  };
}

function describeStep({ id, step, call, wait }: Execution): StepDescription {
  const timers = (wait?.conditions ?? []).flatMap((condition) => (condition.kind === 'timer' ? [condition.dueAt] : []));
  return {
    stepExecutionId: id,
    step,
    state: call?.state ?? 'waiting',
    method: call?.method ?? null,
    attempt: call?.attempt ?? 0,
    since: call?.since ?? wait!.since,
    dueAt: call ? call.dueAt : timers.length > 0 ? Math.min(...timers) : null,
    lastFailure: call?.lastFailure ?? null,
  };
}

/** How a closed run ended. */
export interface Outcome {
  readonly runId: string;
  /** The run that goes on, for `continuedAsNew`. */
  readonly nextRunId: string | null;
  readonly status: ClosedStatus;
  readonly failKind: FailKind | null;
  readonly failure: Failure | null;
  readonly outputs: readonly { readonly stepExecutionId: string; readonly value: Payload }[];
}

export function outcomeOf(run: RunState): Outcome {
  const { runId, nextRunId, status, failKind, failure } = run.head;
  return {
    runId,
    nextRunId,
    status: status as ClosedStatus,
    failKind,
    failure,
    outputs: [...run.outputs.values()].map(({ execution, value }) => ({ stepExecutionId: execution, value })),
  };
}

export function attributesOf(run: RunState): (readonly [Address, Payload])[] {
  const values: (readonly [Address, Payload])[] = [];
  for (const address of run.attributes.all()) {
    const value = run.attributes.read(address);
    if (value !== undefined) values.push([address, value]);
  }
  return values;
}

/** Whether an execution was scheduled and has ended, in any way (O1); undefined if it was never scheduled. */
export function hasEnded(run: RunState, execution: string): boolean | undefined {
  if (run.executions.has(execution)) return false;
  const at = execution.lastIndexOf('-');
  const number = Number(execution.slice(at + 1));
  if (at > 0 && Number.isInteger(number) && number >= 1 && number <= (run.head.counters[execution.slice(0, at)] ?? 0)) {
    return true;
  }
  return undefined;
}
