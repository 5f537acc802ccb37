import { HoldfastError } from '../errors';
import { toFailure } from '../values';
import type { ChildRequest, ChildRow } from './child';
import { closeRun } from './close';
import type { ConditionSpec, Execution } from './execution';
import { firingClosed, firingStarted } from './firing';
import type {
  ChildClosedCommand,
  ChildStartCommand,
  ChildStartedCommand,
  ChildStopCommand,
  ChildToldCommand,
} from './flow-message';
import { closedOf, outcomeOfRun, tellChild, tellObligation, tellOutcome } from './outbox';
import type { RunState } from './run-state';
import { scheduleIdOf } from './schedule-state';
import { beginRun, checkStart } from './start';
import type { Turn } from './turn';

/** Asks for SubFlows: each is started when this is saved, exactly once (U1). */
export function requestChildren(turn: Turn, requests: readonly ChildRequest[], execution: string | null): void {
  for (const request of requests) {
    const held = room(turn.run) > 0 ? {} : ({ held: true } as const);
    turn.emit({ kind: 'ChildRequested', child: request, execution, ...held });
    turn.tell(tellChild(turn.run, turn.run.children.get(request.key)!));
  }
}

/** Starts SubFlows that were held, as many as may be open at a time (U6). */
export function admitChildren(turn: Turn): void {
  const { children } = turn.run;
  for (const key of children.held) {
    if (room(turn.run) <= 0) return;
    turn.emit({ kind: 'ChildAdmitted', key });
    turn.tell(tellChild(turn.run, children.get(key)!));
  }
}

function room({ head, children }: RunState): number {
  return (head.config.childrenAtOnce ?? Number.POSITIVE_INFINITY) - children.running;
}

/** Stops the SubFlows that go with a wait which lost or was cancelled (U1). */
export function stopWithWait(turn: Turn, keys: readonly string[]): void {
  for (const key of keys) {
    const child = turn.run.children.get(key);
    if (!child || child.state === 'closed' || child.stop || child.attached) continue;
    if (child.state === 'held') {
      const failure = { name: 'Stopped', message: 'It was cancelled before it could start.' };
      const outcome = { runId: null, status: 'cancelled', failKind: null, failure, outputs: [] } as const;
      turn.emit({ kind: 'ChildClosed', key, outcome });
      continue;
    }
    turn.emit({ kind: 'ChildStopAsked', key, how: 'cancel' });
    turn.tell(tellChild(turn.run, turn.run.children.get(key)!));
  }
}

/** Cancels an execution, and the SubFlows that go with its wait (O1, U1). */
export function cancelExecution(turn: Turn, execution: Execution, reason: string): void {
  turn.emit({ kind: 'StepCancelled', execution: execution.id, reason });
  stopWithWait(turn, keysToStop(execution.wait?.conditions ?? []));
}

/** Children that go with their wait. */
export function keysToStop(conditions: readonly ConditionSpec[]): string[] {
  return conditions.flatMap((each) => (each.kind === 'subFlow' && each.cancelWithWait ? [each.key] : []));
}

/** In the child's shard: starts it, or finds the run that is to be it (U4). A repeat gets the same answer. */
export function childStart(turn: Turn, command: ChildStartCommand): void {
  const { flow, now } = turn;
  const { flowId, chainId, key } = command.parent;
  const requestId = `child:${chainId}:${key}`;
  const known = flow.ids.get(requestId)?.answer as ChildAnswer | undefined;
  const answer = known ?? begin(turn, command);
  if (!known) flow.remember(requestId, '', answer, now);
  if ('refused' in answer) {
    const outcome = { runId: null, status: 'refused', failKind: null, failure: answer.refused, outputs: [] } as const;
    turn.tell({ key: `closed ${chainId} ${key}`, flowId, command: closedOf(chainId, key, flow.head.flowId, outcome) });
    return;
  }
  const { runId, attached } = answer;
  const started: ChildStartedCommand = {
    kind: 'childStarted',
    chainId,
    key,
    childFlowId: flow.head.flowId,
    runId,
    attached,
  };
  turn.tell({ key: `started ${chainId} ${key}`, flowId, command: started });
  tellIfClosed(turn, flowId, chainId, key);
}

type ChildAnswer =
  | { readonly runId: string; readonly attached: boolean }
  | { readonly refused: ReturnType<typeof toFailure> };

function begin(turn: Turn, command: ChildStartCommand): ChildAnswer {
  const { parent, plan, newRunId, input, reuse, terms, trace } = command;
  const existing = turn.flow.run;
  const mine = existing?.head.parents.find(
    ({ flowId, chainId, key }) =>
      flowId === parent.flowId && key === parent.key && command.lines?.includes(chainId) === true,
  );
  if (mine && (existing!.isOpen || command.again)) {
    // As it was to this parent before it went back in time (K4).
    turn.emit({ kind: 'ParentAttached', parent: { ...mine, ...parent, told: false } });
    return { runId: existing!.head.runId, attached: mine.attached ?? false };
  }
  const attach =
    existing &&
    !command.again &&
    (reuse === 'attach' || (reuse === 'restartIfFailed' && !existing.isOpen && existing.head.status === 'completed'));
  if (attach) {
    turn.emit({ kind: 'ParentAttached', parent: { ...parent, told: false, attached: true } });
    return { runId: existing.head.runId, attached: true };
  }
  if (command.again) {
    return { refused: { name: 'SubFlowGone', message: `The SubFlow ${turn.flow.head.flowId} is not kept any more.` } };
  }
  const start = {
    kind: 'start',
    requestId: `child:${parent.chainId}:${parent.key}`,
    digest: '',
    plan,
    runId: newRunId,
    input,
    attributes: [],
    reuse: reuseOf[reuse],
    startDelayMs: 0,
    config: {},
    ...terms,
    ...(trace && { trace }),
    parent: { ...parent, told: false },
  } as const;
  try {
    checkStart(turn, start);
  } catch (error) {
    if (error instanceof HoldfastError) return { refused: toFailure(error) };
    throw error;
  }
  beginRun(turn, start);
  return { runId: newRunId, attached: false };
}

const reuseOf = {
  attach: 'ifPreviousFailed',
  restartIfFailed: 'ifPreviousFailed',
  restart: 'terminateRunning',
  never: 'reject',
} as const;

/** In the child's shard: the parent closes, or its wait has ended (U3). */
export function childStop(turn: Turn, { parent, runId, how }: ChildStopCommand): void {
  const { run } = turn.flow;
  const isIt = run && (run.head.runId === runId || run.head.chainId === runId || run.head.lines?.includes(runId));
  if (run?.isOpen && isIt) {
    const schedule = scheduleIdOf(parent.flowId);
    const who = schedule === undefined ? `The parent ${parent.flowId}` : `A later firing of the schedule ${schedule}`;
    const failure = { name: 'Stopped', message: `${who} stopped it.` };
    closeRun(turn, how === 'cancel' ? 'cancelled' : 'terminated', null, failure);
  } else tellIfClosed(turn, parent.flowId, parent.chainId, parent.key, runId);
}

/** In the child's shard: a parent has saved how the run ended (U5). */
export function childTold(turn: Turn, { parentFlowId, chainId, key }: ChildToldCommand): void {
  const { run } = turn.flow;
  turn.flow.outcomeDelivered(chainId, key);
  const link = run?.head.parents.find((each) => each.chainId === chainId && each.key === key);
  if (run && !run.isOpen && link && !link.told) {
    turn.emit({ kind: 'OutcomeDelivered', parentFlowId, chainId, key });
  }
}

function tellIfClosed(turn: Turn, parentFlowId: string, chainId: string, key: string, runId?: string): void {
  const { run, head, outcomes } = turn.flow;
  const owed = outcomes.get(`${chainId} ${key}`);
  if (owed) return turn.tell(tellOutcome(owed));
  if (run?.isOpen) return;
  const mine = run?.head.parents.some((each) => each.chainId === chainId && each.key === key);
  const outcome =
    run && mine
      ? outcomeOfRun(run)
      : ({ runId: runId ?? null, status: 'terminated', failKind: null, failure: null, outputs: [] } as const);
  turn.tell({
    key: `closed ${chainId} ${key}`,
    flowId: parentFlowId,
    command: closedOf(chainId, key, head.flowId, outcome),
  });
}

/** In the parent's shard: the start of a child is confirmed. */
export function childStarted(turn: Turn, { chainId, key, runId, attached }: ChildStartedCommand): void {
  const child = childOf(turn, chainId, key);
  if (child?.state === 'starting') {
    turn.emit({ kind: 'ChildStarted', key, runId, attached });
    turn.tell(tellChild(turn.run, turn.run.children.get(key)!));
  }
  const { flow } = turn;
  firingStarted(turn, chainId, key, runId);
  const owed = flow.obligations.get(`${chainId} ${key}`);
  if (!owed?.start) return;
  if (owed.stop === null || attached) return flow.fulfil(chainId, key);
  const next = { ...owed, start: null, runId };
  flow.obligations.set(`${chainId} ${key}`, next);
  turn.tell(tellObligation(flow.head.flowId, next));
}

/** In the parent's shard: a child has ended; what waits for it may go on, and the child may forget it (U1, U5). */
export function childClosed(turn: Turn, { chainId, key, childFlowId, outcome }: ChildClosedCommand): void {
  const { flow } = turn;
  const child = childOf(turn, chainId, key);
  if (child && child.state !== 'closed') {
    turn.emit({ kind: 'ChildClosed', key, outcome });
    if (child.execution !== null && mayHold(turn.run, child.execution)) turn.waitsToTry.add(child.execution);
  }
  flow.fulfil(chainId, key);
  firingClosed(turn, chainId, key, outcome);
  turn.tell({
    key: `told ${chainId} ${key}`,
    flowId: childFlowId,
    command: { kind: 'childTold', parentFlowId: flow.head.flowId, chainId, key },
  });
}

/** Of a wait for all of many SubFlows only the last one can make it hold: the others need not be looked through each time. */
function mayHold(run: RunState, execution: string): boolean {
  const wait = run.executions.get(execution)?.wait;
  return wait != null && (wait.candidates.length > 1 || run.children.openOf(execution) === 0);
}

function childOf(turn: Turn, chainId: string, key: string): ChildRow | undefined {
  const { run } = turn.flow;
  return run?.isOpen && run.head.chainId === chainId ? run.children.get(key) : undefined;
}
