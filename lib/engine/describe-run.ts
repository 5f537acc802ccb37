import {
  type Call,
  type ChildRow,
  callOfHolder,
  type Execution,
  firedAt,
  keyOf,
  nameOf,
  type ParentLink,
  type RunState,
  scheduleIdOf,
} from '../core';
import type {
  BriefFailure,
  ChildDescription,
  ConditionDescription,
  FailureDescription,
  RunDescription,
  StepDescription,
  TimerDescription,
} from './run-description';

/** How many of each list a description holds, and of the conditions of one wait. */
const listed = 100;
const listedConditions = 20;
const briefMessage = 1_000;

export function describeRun(run: RunState, blocked: readonly string[] = []): RunDescription {
  const { head } = run;
  const executions = [...run.executions.values()];
  const timers = executions.flatMap(timersOf).sort((a, b) => a.dueAt - b.dueAt);
  const failed = executions.filter(({ call }) => call?.lastFailure);
  const unread = [...run.messages.allUnread()];
  const locks = run.locks.describe();
  const children = [...run.children.values()];
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
    closing: head.closing?.status ?? null,
    counts: {
      steps: executions.length,
      byState: countStates(executions),
      timers: timers.length,
      failures: failed.length,
      unreadChannels: unread.length,
      unreadMessages: unread.reduce((sum, [, queue]) => sum + queue.size, 0),
      locks: locks.length,
      children: children.length,
    },
    steps: executions.slice(0, listed).map((execution) => describeStep(run, execution)),
    timers: timers.slice(0, listed),
    failures: latestFailures(failed),
    unread: unread.slice(0, listed).map(([address, queue]) => ({
      channel: nameOf(address),
      key: keyOf(address),
      messages: queue.size,
    })),
    locks: locks.slice(0, listed).map(({ address, holders, waiting }) => ({
      attribute: nameOf(address),
      key: keyOf(address),
      holders: holders.slice(0, listed).map(holderName),
      waiting: waiting.slice(0, listed).map(holderName),
    })),
    children: children.slice(0, listed).map(describeChild),
    ...originOf(head.parents),
    blocked,
    scheduled: head.counters,
  };
}

function originOf(links: readonly ParentLink[]): Pick<RunDescription, 'parents' | 'schedule'> {
  const schedules = links.flatMap(({ flowId, key }) => {
    const id = scheduleIdOf(flowId);
    return id === undefined ? [] : [{ id, at: firedAt(key) }];
  });
  const parents = links.filter(({ flowId }) => scheduleIdOf(flowId) === undefined);
  return { parents: parents.slice(0, listed).map(({ flowId }) => ({ flowId })), schedule: schedules[0] ?? null };
}

function countStates(executions: readonly Execution[]): RunDescription['counts']['byState'] {
  const counts = { waiting: 0, delayed: 0, locked: 0, ready: 0, backoff: 0, running: 0 };
  for (const { call } of executions) counts[call?.state ?? 'waiting']++;
  return counts;
}

function describeStep(run: RunState, execution: Execution): StepDescription {
  const { id, step, call, wait } = execution;
  const due = timersOf(execution).map(({ dueAt }) => dueAt);
  return {
    stepExecutionId: id,
    step,
    state: call?.state ?? 'waiting',
    method: call?.method ?? null,
    attempt: call?.attempt ?? 0,
    since: call?.since ?? wait!.since,
    dueAt: call ? call.dueAt : due.length > 0 ? Math.min(...due) : null,
    nextRetryAt: call?.state === 'backoff' ? call.dueAt : null,
    worker: call?.worker ?? null,
    lastFailure: call?.lastFailure ? brief(call.lastFailure) : null,
    waitsFor: describeConditions(run, execution),
  };
}

function describeConditions(run: RunState, { wait }: Execution): ConditionDescription[] {
  return (wait?.conditions ?? []).slice(0, listedConditions).map((condition, i) => {
    if (condition.kind === 'timer') return { ...condition, skipped: wait!.skipped.includes(i) };
    if (condition.kind === 'channel') {
      const { kind, id, address, min, max } = condition;
      return { kind, id, channel: nameOf(address), key: keyOf(address), min, max };
    }
    return { kind: 'subFlow', id: condition.id, flowId: run.children.get(condition.key)?.flowId };
  });
}

function timersOf({ id, wait }: Execution): TimerDescription[] {
  return (wait?.conditions ?? []).flatMap((condition, i) =>
    condition.kind === 'timer' && !wait!.skipped.includes(i)
      ? [{ stepExecutionId: id, id: condition.id, dueAt: condition.dueAt }]
      : [],
  );
}

function latestFailures(failed: readonly Execution[]): FailureDescription[] {
  return failed
    .map(({ id, call }) => ({ id, call: call as Call }))
    .sort((a, b) => b.call.issue - a.call.issue)
    .slice(0, listed)
    .map(({ id, call: { method, attempt, lastFailure } }) => ({
      stepExecutionId: id,
      method,
      attempt,
      ...brief(lastFailure!),
    }));
}

function describeChild({ flowId, flow, runId, state, outcome, parentClose, execution }: ChildRow): ChildDescription {
  const status = state === 'started' ? 'running' : (outcome?.status ?? (state as 'held' | 'starting'));
  return { flowId, flow, runId, status, parentClose, stepExecutionId: execution };
}

/** Calls stand among the executions under their request's id. */
function holderName(holder: string): string {
  const requestId = callOfHolder(holder);
  return requestId === undefined ? holder : `rpc:${requestId}`;
}

function brief({ name, message }: BriefFailure): BriefFailure {
  return { name, message: message.slice(0, briefMessage) };
}
