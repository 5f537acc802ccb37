import { HoldfastError } from '../errors';
import { checkChannel } from './declared';
import type { Event, RpcCompleted } from './event';
import { limits } from './limits';
import { lookAtAll } from './look-at-all';
import { tellChild } from './outbox';
import type { RunState } from './run-state';
import { refuseCalls, type Started } from './start';
import { checkMovement, scheduleStep, startByOf } from './step';
import { cancelExecution, requestChildren } from './subflow';
import type { Past, TimeTravelCommand } from './travel-command';
import type { Turn } from './turn';

/** Chains a SubFlow is known by; the first and the latest. */
const linesKept = 100;

/**
 * Begins a run from the state of a moment that is past (K4). The latest run ends in the same write if it is open; its SubFlows
 * are left alone and attached again by key. What clients sent since then is applied again if it was asked for.
 */
export function timeTravel(turn: Turn, command: TimeTravelCommand): void {
  const { flow, now } = turn;
  const latest = flow.run;
  const { past } = command;
  if (!latest || !past) {
    throw new HoldfastError('FLOW_NOT_FOUND', `There is no Flow ${JSON.stringify(flow.head.flowId)} to go back in.`, {
      where: flow.head.flowId,
    });
  }
  if (latest.head.chainId !== past.chainId) {
    const message = `Another run of ${JSON.stringify(flow.head.flowId)} began meanwhile: nothing was changed.`;
    throw new HoldfastError('FLOW_NOT_ACTIVE', message, { where: flow.head.flowId });
  }
  checkPast(turn, past);
  const { source, at } = past;
  const { newRunId: runId, reason } = command;
  const startBy = startTimes(turn, source);
  replace(turn, latest, runId);
  refuseCalls(turn, latest, 'A time travel');
  const { deadlineAt, chainId, lines = [] } = source.head;
  turn.beginFrom(source, {
    kind: 'TimeTravelled',
    runId,
    fromRunId: source.head.runId,
    fromEvent: source.head.events - source.head.base,
    previousRunId: latest.head.runId,
    lines: boundedLines([...new Set([...lines, chainId, ...(latest.head.lines ?? []), latest.head.chainId])]),
    plan: turn.plan.fingerprint,
    reason,
    deadlineAt: deadlineAt === null ? null : now + Math.max(0, deadlineAt - at),
    parents: latest.head.parents,
    startBy,
  });
  for (const key of turn.run.children.owing) turn.tell(tellChild(turn.run, turn.run.children.get(key)!));
  for (const event of past.later) applyAgain(turn, event);
  lookAtAll(turn);
  const answer: Started = { runId };
  flow.remember(command.requestId, command.digest, answer, now);
  turn.answer(answer);
}

/** Whether an event of a line is applied again after a time travel: messages and RPCs of clients, and Steps these started. */
export function isOfClients(event: Event): boolean {
  if (event.kind === 'StepScheduled') return event.from.kind === 'rpc';
  return event.kind === 'MessagePublished' || event.kind === 'RpcCompleted';
}

function checkPast(turn: Turn, { source, later }: Past): void {
  const { flowId, status, closing } = source.head;
  if (!source.isTaking) {
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `At that moment ${JSON.stringify(flowId)} was ${closing ? 'closing' : status}: nothing could go on from there.`,
      { where: flowId },
    );
  }
  let messages = source.tables.messages.size;
  for (const event of later) {
    if (event.kind === 'StepScheduled') checkMovement(turn.plan, event);
    if (event.kind === 'MessagePublished') checkChannel(turn.plan, event.address);
    if (event.kind === 'MessagePublished') messages++;
    if (event.kind === 'RpcCompleted') messages += event.staged.publishes.length;
  }
  if (messages > limits.unreadMessages) {
    throw new HoldfastError('LIMIT_EXCEEDED', `More than ${limits.unreadMessages} messages would be unread.`, {
      where: flowId,
    });
  }
}

/** Ends the latest run, or marks one that is closed, so that who waits for its result goes on to the next. */
function replace(turn: Turn, latest: RunState, nextRunId: string): void {
  if (!latest.isOpen) return turn.emit({ kind: 'RunReplaced', nextRunId });
  for (const execution of [...latest.executions.keys()]) {
    turn.emit({ kind: 'StepCancelled', execution, reason: 'the Flow goes on from an earlier moment' });
  }
  const failure = { name: 'TimeTravelled', message: `Run ${nextRunId} goes on from an earlier moment.` };
  turn.emit({ kind: 'FlowClosed', status: 'terminated', failKind: null, failure, nextRunId });
}

function startTimes(turn: Turn, source: RunState): Record<string, number> {
  const times: Record<string, number> = {};
  for (const execution of source.executions.values()) {
    const startBy = execution.call ? startByOf(turn, execution, execution.call.method, []) : null;
    if (startBy !== null) times[execution.id] = startBy;
  }
  return times;
}

function applyAgain(turn: Turn, event: Event): void {
  switch (event.kind) {
    case 'MessagePublished': {
      const { at: _, ...message } = event;
      return turn.emit({ ...message, again: true });
    }
    case 'StepScheduled':
      scheduleStep(turn, event, event.from);
      return;
    case 'RpcCompleted':
      return applyRpcAgain(turn, event);
  }
}

function applyRpcAgain(turn: Turn, { at: _, ...event }: RpcCompleted & { readonly at: number }): void {
  turn.emit({ ...event, again: true });
  const { runId } = turn.run.head;
  const children = event.staged.children.map((child) => ({ ...child, newRunId: `${child.newRunId}.${runId}` }));
  requestChildren(turn, children, null);
  for (const execution of [...turn.run.executions.values()]) {
    if (event.cancels?.includes(execution.step)) cancelExecution(turn, execution, `cancelled by the RPC ${event.rpc}`);
  }
}

function boundedLines(lines: readonly string[]): readonly string[] {
  return lines.length <= linesKept ? lines : [lines[0]!, ...lines.slice(1 - linesKept)];
}
