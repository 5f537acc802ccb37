import { HoldfastError } from '../errors';
import { type RpcPlan, rpcNamed } from '../plan';
import { callTaskOf } from './call-task';
import type {
  CallAnswered,
  CallCommand,
  CallGoneCommand,
  CallIdleCommand,
  CallResultCommand,
  CallStartCommand,
  StartAndCallCommand,
} from './command';
import { checkFlow, isOneOf } from './declared';
import type { LockClaim } from './execution';
import { FlowState } from './flow-state';
import { claimsOf } from './lock';
import { lookAtAll } from './look-at-all';
import { callHolder, hasStartedCalls, type OpenCall } from './open-call';
import type { RunState } from './run-state';
import { bytesOfStaged, checkBytes, checkStaged } from './staged';
import { beginRun, checkStart } from './start';
import { checkMovement, scheduleStep } from './step';
import { cancelExecution, requestChildren } from './subflow';
import { Turn } from './turn';

/** Takes a call of an RPC or Query in; it is answered when its handler has run (R1). */
export function call(turn: Turn, command: CallCommand): void {
  const { run, head } = turn.flow;
  const declared = declaredRpc(turn, command.rpc);
  if (!run) {
    throw new HoldfastError('FLOW_NOT_FOUND', `There is no Flow ${JSON.stringify(head.flowId)} to call.`, {
      where: head.flowId,
    });
  }
  checkFlow(turn.plan, run);
  // A repeat of a call that is still open joins it.
  if (run.calls.has(command.requestId)) return;
  if (declared.kind === 'rpc' && !run.isTaking) throw closedError(run);
  const { requestId } = command;
  const locks = claimsOf(declared.locks, command.args, `${turn.plan.name}.${command.rpc}`);
  const open = openCall(command, declared, locks);
  if (declared.onLockConflict === 'reject') {
    run.locks.wait(callHolder(requestId), locks);
    const free = run.locks.canHave(callHolder(requestId));
    run.locks.leave(callHolder(requestId));
    if (!free) {
      throw new HoldfastError('LOCK_CONFLICT', `${command.rpc} needs a lock that another call holds or waits for.`, {
        where: head.flowId,
      });
    }
  }
  run.calls.set(requestId, open);
  if (declared.kind === 'query' || !mayClose(turn)) admit(turn, open);
}

/** Calls a Flow that is started if it is not running: validator and handler see its would-be first state (R10). */
export function startAndCall(turn: Turn, command: StartAndCallCommand): void {
  const { flow, plan, now } = turn;
  const { start, kind: _, ...rest } = command;
  if (flow.run?.isTaking) return call(turn, { ...rest, kind: 'call' });
  checkStart(turn, start);
  const declared = declaredRpc(turn, command.rpc);
  const scratch = new Turn(FlowState.empty(flow.head.flowId), plan, now);
  beginRun(scratch, start);
  const locks = claimsOf(declared.locks, command.args, `${plan.name}.${command.rpc}`);
  const open: OpenCall = { ...openCall(command, declared, locks), state: 'ready' };
  scratch.run.calls.set(open.requestId, open);
  flow.pending = { command: start, run: scratch.run };
  turn.effects.push({ kind: 'callReady', requestId: open.requestId });
}

/** Lets a call on that was held back: it queues for its locks, or a worker may take it. */
export function admit(turn: Turn, open: OpenCall): void {
  const { run } = turn;
  if (open.locks.length === 0) return makeReady(turn, open);
  run.calls.set(open.requestId, { ...open, state: 'locked' });
  run.locks.wait(callHolder(open.requestId), open.locks);
  turn.wantingLocks.add(callHolder(open.requestId));
}

function makeReady(turn: Turn, open: OpenCall): void {
  standingIn(turn)!.calls.set(open.requestId, { ...open, state: 'ready', token: null, worker: null });
  turn.effects.push({ kind: 'callReady', requestId: open.requestId });
}

/** The run in whose state an open call stands: the would-be first one of a start that depends on it, or the real one. */
function standingIn(turn: Turn): RunState | undefined {
  return turn.flow.pending?.run ?? turn.flow.run;
}

/** Hands a call out: its handler sees the state of this moment. */
export function startCall(turn: Turn, command: CallStartCommand): void {
  const run = standingIn(turn);
  const open = run?.calls.get(command.requestId);
  if (!run || open?.state !== 'ready') return;
  const started: OpenCall = { ...open, state: 'started', token: command.token, worker: command.worker };
  run.calls.set(open.requestId, started);
  if (open.transactional) run.window = open.requestId;
  turn.effects.push({
    kind: 'handOutCall',
    worker: command.worker,
    task: callTaskOf(run, turn.plan, started, turn.names),
  });
}

/** Takes what the handler did: an RPC's writes and answer are saved together (R3); all else leaves nothing. */
export function callResult(turn: Turn, command: CallResultCommand): void {
  const { requestId, outcome, token, worker } = command;
  const open = standingIn(turn)?.calls.get(requestId);
  const accepted = open?.token === token;
  turn.effects.push({ kind: 'resultTaken', worker, token, accepted });
  if (!open || !accepted) return;
  if (outcome.kind === 'failed') {
    endCall(turn, open);
    const error = new HoldfastError(outcome.code, outcome.failure.message);
    turn.effects.push({ kind: 'callAnswer', requestId, error, failure: outcome.failure });
    return;
  }
  const error = open.kind === 'rpc' || turn.flow.pending ? takeAnswer(turn, open, outcome) : undefined;
  endCall(turn, open);
  turn.effects.push({ kind: 'callAnswer', requestId, ...(error ? { error } : { value: outcome.answer }) });
}

/** Saves what an RPC did, with the start that depended on the call; or says why it cannot be saved. */
function takeAnswer(turn: Turn, open: OpenCall, outcome: CallAnswered): HoldfastError | undefined {
  const { pending } = turn.flow;
  try {
    if (pending) checkStart(turn, pending.command);
    if (open.kind === 'rpc') checkRpc(turn, open, outcome);
  } catch (refusal) {
    if (refusal instanceof HoldfastError) return refusal;
    throw refusal;
  }
  if (pending) beginRun(turn, pending.command);
  if (open.kind === 'rpc') apply(turn, open, outcome);
  return undefined;
}

function checkRpc(turn: Turn, open: OpenCall, outcome: CallAnswered): void {
  const run = standingIn(turn)!;
  // It had started before the Flow began to close, so it is saved; a closed Flow takes nothing more.
  if (!run.isOpen) throw closedError(run);
  for (const movement of outcome.movements) checkMovement(turn.plan, movement);
  checkBytes([outcome.answer, ...bytesOfStaged(outcome.staged)], `The answer of ${open.rpc}`);
  checkStaged(turn.plan, run, open.rpc, open.locks, outcome.staged);
}

function apply(turn: Turn, open: OpenCall, outcome: CallAnswered): void {
  const { rpc, requestId, args, digest } = open;
  const { answer, staged, deleted, cancels, movements } = outcome;
  const what = { rpc, requestId, args, answer, staged, deleted, ...(cancels.length > 0 && { cancels }) };
  turn.emit({ kind: 'RpcCompleted', ...what });
  turn.flow.remember(requestId, digest, answer, turn.now);
  if (turn.run.isTaking) requestChildren(turn, staged.children, null);
  for (const execution of [...turn.run.executions.values()]) {
    if (isOneOf(turn.plan, execution.step, cancels)) {
      cancelExecution(turn, execution, `cancelled by the RPC ${rpc}`);
    }
  }
  if (!turn.run.isTaking) return;
  for (const movement of movements) scheduleStep(turn, movement, { kind: 'rpc', name: rpc, requestId });
}

/** Nobody waits for the call any more, or its deadline has passed: it leaves nothing (R8). */
export function callGone(turn: Turn, command: CallGoneCommand): void {
  const open = standingIn(turn)?.calls.get(command.requestId);
  const { requestId } = command;
  if (!open) {
    // Whoever still waits for it is told, whatever became of it.
    const error = new HoldfastError('DEADLINE_EXCEEDED', 'The call was not answered before its deadline.');
    turn.effects.push({ kind: 'callAnswer', requestId, error });
    return;
  }
  endCall(turn, open);
  abortStarted(turn, open, 'the deadline of the call passed');
  const error =
    open.state === 'started'
      ? new HoldfastError('DEADLINE_EXCEEDED', `${open.rpc} did not end before the deadline of the call.`)
      : open.state === 'ready' || open.untaken
        ? new HoldfastError('NO_WORKER', `No worker took ${open.rpc} before the deadline of the call.`)
        : new HoldfastError('DEADLINE_EXCEEDED', `${open.rpc} could not begin before the deadline of the call.`);
  turn.effects.push({ kind: 'callAnswer', requestId: open.requestId, error });
}

/** No worker has taken a call that is ready: if others wait for its locks, it gives them back and goes to the end (L3). */
export function callIdle(turn: Turn, { requestId }: CallIdleCommand): void {
  const { run } = turn.flow;
  const open = run?.calls.get(requestId);
  const holder = callHolder(requestId);
  if (!run || open?.state !== 'ready' || !run.locks.isWanted(holder)) return;
  for (const address of run.locks.addressesOf(holder)) turn.freedLocks.add(address);
  run.locks.leave(holder);
  run.locks.wait(holder, open.locks);
  run.calls.set(requestId, { ...open, state: 'locked', untaken: true });
  turn.effects.push({ kind: 'callQueued', requestId });
}

/** The worker of started calls is gone or was silent for too long: others may run their handlers again (R6). */
export function callsAgain(turn: Turn, worker: string, tokens: readonly string[] | null): void {
  for (const open of [...(standingIn(turn)?.calls.values() ?? [])]) {
    if (open.worker !== worker || open.state !== 'started' || (tokens && !tokens.includes(open.token!))) continue;
    if (turn.flow.run?.window === open.requestId) endWindow(turn);
    turn.effects.push({ kind: 'abort', worker, token: open.token!, reason: 'the worker was taken for dead' });
    makeReady(turn, open);
  }
}

/** Whether the Flow waits for started RPCs before it decides to close, so that new ones have to queue (D5, O4). */
export function mayClose(turn: Turn): boolean {
  const { head, executions } = turn.run;
  if (head.closeChecks.length > 0) return true;
  return head.completing && executions.size === 0 && hasStartedCalls(turn.run);
}

function endCall(turn: Turn, open: OpenCall): void {
  if (turn.flow.pending) {
    turn.flow.pending = undefined;
    return;
  }
  const { run } = turn;
  run.calls.delete(open.requestId);
  if (run.window === open.requestId) endWindow(turn);
  const holder = callHolder(open.requestId);
  for (const address of run.locks.addressesOf(holder)) turn.freedLocks.add(address);
  run.locks.leave(holder);
}

/** What was held back during the window is looked at now. */
function endWindow(turn: Turn): void {
  turn.run.window = null;
  lookAtAll(turn);
}

/** Refuses every call of an RPC that had not started when the run closed. */
export function refuseUnstarted(turn: Turn): void {
  for (const open of [...turn.run.calls.values()]) {
    // What had started is finished first, unless the run has closed at once (R9).
    if (open.kind === 'query' || (open.state === 'started' && turn.run.isOpen)) continue;
    endCall(turn, open);
    abortStarted(turn, open, 'the Flow closed');
    turn.effects.push({ kind: 'callAnswer', requestId: open.requestId, error: closedError(turn.run) });
  }
}

/** Nobody waits for what the handler does any more (O2). */
function abortStarted(turn: Turn, open: OpenCall, reason: string): void {
  if (open.state !== 'started') return;
  turn.effects.push({ kind: 'abort', worker: open.worker!, token: open.token!, reason });
}

function closedError(run: RunState): HoldfastError {
  const { flowId, status, closing } = run.head;
  const name = JSON.stringify(flowId);
  return closing
    ? new HoldfastError('FLOW_CLOSING', `The Flow ${name} is closing as ${closing.status} and takes no calls.`, {
        where: flowId,
      })
    : new HoldfastError('FLOW_NOT_ACTIVE', `The Flow ${name} is ${status}: it cannot be called.`, { where: flowId });
}

function declaredRpc({ plan }: Turn, rpc: string): RpcPlan {
  const declared = rpcNamed(plan, rpc);
  if (declared) return declared;
  throw new HoldfastError('DEFINITION', `The Flow ${plan.name} has no RPC or Query ${rpc}.`, { where: plan.name });
}

function openCall(
  { requestId, digest, rpc, args, plan, trace }: Omit<CallCommand, 'kind'>,
  { kind, transactional }: RpcPlan,
  locks: readonly LockClaim[],
): OpenCall {
  return {
    requestId,
    digest,
    kind,
    rpc,
    args,
    ...(trace && { trace }),
    plan,
    locks,
    transactional,
    state: 'held',
    token: null,
    worker: null,
    untaken: false,
  };
}
