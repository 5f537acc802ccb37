import { HoldfastError } from '../errors';
import { callTaskOf } from './call-task';
import type { CallCommand, CallGoneCommand, CallResultCommand, CallStartCommand } from './command';
import { claimsOf } from './lock';
import { callHolder, hasStartedCalls, type OpenCall } from './open-call';
import { checkStaged } from './staged';
import { checkMovement, scheduleStep } from './step';
import type { Turn } from './turn';

/** Takes a call of an RPC or Query in; it is answered when its handler has run (R1). */
export function call(turn: Turn, command: CallCommand): void {
  const { run, head } = turn.flow;
  const declared = turn.plan.rpcs[command.rpc];
  if (!declared) {
    throw new HoldfastError('DEFINITION', `The Flow ${turn.plan.name} has no RPC or Query ${command.rpc}.`, {
      where: turn.plan.name,
    });
  }
  if (!run) {
    throw new HoldfastError('FLOW_NOT_FOUND', `There is no Flow ${JSON.stringify(head.flowId)} to call.`, {
      where: head.flowId,
    });
  }
  // A repeat of a call that is still open joins it.
  if (run.calls.has(command.requestId)) return;
  if (declared.kind === 'rpc') refuseClosed(turn);
  const { requestId, digest, rpc, args, plan } = command;
  const locks = claimsOf(declared.locks, args, `${turn.plan.name}.${rpc}`);
  const { kind, transactional } = declared;
  const open: OpenCall = {
    requestId,
    digest,
    kind,
    rpc,
    args,
    plan,
    locks,
    transactional,
    state: 'held',
    token: null,
    worker: null,
  };
  if (declared.onLockConflict === 'reject') {
    run.locks.wait(callHolder(requestId), locks);
    const free = run.locks.canHave(callHolder(requestId));
    run.locks.leave(callHolder(requestId));
    if (!free) {
      throw new HoldfastError('LOCK_CONFLICT', `${rpc} needs a lock that another call holds or waits for.`, {
        where: head.flowId,
      });
    }
  }
  run.calls.set(requestId, open);
  if (kind === 'query' || !mayClose(turn)) admit(turn, open);
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
  turn.run.calls.set(open.requestId, { ...open, state: 'ready', token: null, worker: null });
  turn.effects.push({ kind: 'callReady', requestId: open.requestId });
}

/** Hands a call out: its handler sees the state of this moment. */
export function startCall(turn: Turn, command: CallStartCommand): void {
  const { run } = turn.flow;
  const open = run?.calls.get(command.requestId);
  if (!run || open?.state !== 'ready') return;
  const started: OpenCall = { ...open, state: 'started', token: command.token, worker: command.worker };
  run.calls.set(open.requestId, started);
  if (open.transactional) run.window = open.requestId;
  turn.effects.push({
    kind: 'handOutCall',
    worker: command.worker,
    task: callTaskOf(run, turn.plan, started),
  });
}

/** Takes what the handler did: an RPC's writes and answer are saved together (R3); all else leaves nothing. */
export function callResult(turn: Turn, command: CallResultCommand): void {
  const open = turn.flow.run?.calls.get(command.requestId);
  const accepted = open?.token === command.token;
  turn.effects.push({ kind: 'resultTaken', worker: command.worker, token: command.token, accepted });
  if (!open || !accepted) return;
  const { outcome } = command;
  let error = outcome.kind === 'failed' ? new HoldfastError(outcome.code, outcome.failure.message) : undefined;
  if (outcome.kind === 'answered' && open.kind === 'rpc') {
    try {
      checkRpc(turn, open, outcome);
    } catch (refusal) {
      if (!(refusal instanceof HoldfastError)) throw refusal;
      error = refusal;
    }
    if (!error) apply(turn, open, outcome);
  }
  endCall(turn, open);
  if (outcome.kind === 'failed') {
    turn.effects.push({ kind: 'callAnswer', requestId: open.requestId, error: error!, failure: outcome.failure });
  } else if (error) turn.effects.push({ kind: 'callAnswer', requestId: open.requestId, error });
  else turn.effects.push({ kind: 'callAnswer', requestId: open.requestId, value: outcome.answer });
}

function checkRpc(turn: Turn, open: OpenCall, outcome: CallResultCommand['outcome'] & { kind: 'answered' }): void {
  // It had started before the Flow began to close, so it is saved; a closed Flow takes nothing more.
  if (!turn.run.isOpen) refuseClosed(turn);
  for (const movement of outcome.movements) checkMovement(turn.plan, movement);
  checkStaged(turn, open.rpc, open.locks, outcome.staged);
}

function apply(turn: Turn, open: OpenCall, outcome: CallResultCommand['outcome'] & { kind: 'answered' }): void {
  const { rpc, requestId, args, digest } = open;
  const { answer, staged, deleted, cancels, movements } = outcome;
  turn.emit({ kind: 'RpcCompleted', rpc, requestId, args, answer, staged, deleted });
  turn.flow.remember(requestId, digest, answer, turn.now);
  for (const execution of [...turn.run.executions.values()]) {
    if (cancels.includes(execution.step)) {
      turn.emit({ kind: 'StepCancelled', execution: execution.id, reason: `cancelled by the RPC ${rpc}` });
    }
  }
  if (!turn.run.isTaking) return;
  for (const movement of movements) scheduleStep(turn, movement, { kind: 'rpc', name: rpc, requestId });
}

/** Nobody waits for the call any more, or its deadline has passed: it leaves nothing (R8). */
export function callGone(turn: Turn, command: CallGoneCommand): void {
  const open = turn.flow.run?.calls.get(command.requestId);
  if (!open) return;
  endCall(turn, open);
  if (open.state === 'started') {
    turn.effects.push({
      kind: 'abort',
      worker: open.worker!,
      token: open.token!,
      reason: 'the deadline of the call passed',
    });
  }
  const error =
    open.state === 'started'
      ? new HoldfastError('DEADLINE_EXCEEDED', `${open.rpc} did not end before the deadline of the call.`)
      : open.state === 'ready'
        ? new HoldfastError('NO_WORKER', `No worker took ${open.rpc} before the deadline of the call.`)
        : new HoldfastError('DEADLINE_EXCEEDED', `${open.rpc} could not begin before the deadline of the call.`);
  turn.effects.push({ kind: 'callAnswer', requestId: open.requestId, error });
}

/** The worker of a started call is gone: another may run the handler again (R6). */
export function callAgain(turn: Turn, open: OpenCall): void {
  if (turn.run.window === open.requestId) endWindow(turn);
  makeReady(turn, open);
}

/** Whether the Flow waits for started RPCs before it decides to close, so that new ones have to queue (D5, O4). */
export function mayClose(turn: Turn): boolean {
  const { head, executions } = turn.run;
  if (head.closeChecks.length > 0) return true;
  return head.completing && executions.size === 0 && hasStartedCalls(turn.run);
}

function endCall(turn: Turn, open: OpenCall): void {
  const { run } = turn;
  run.calls.delete(open.requestId);
  if (run.window === open.requestId) endWindow(turn);
  const holder = callHolder(open.requestId);
  for (const address of run.locks.addressesOf(holder)) turn.freedLocks.add(address);
  run.locks.leave(holder);
}

/** What was held back during the window is looked at now. */
function endWindow(turn: Turn): void {
  const { run } = turn;
  run.window = null;
  for (const { id, wait, call } of run.executions.values()) {
    if (wait) turn.waitsToTry.add(id);
    if (call?.state === 'locked') turn.wantingLocks.add(id);
    if (call?.state === 'ready') turn.maybeReady.add(id);
  }
  for (const open of run.calls.values()) {
    if (open.state === 'locked') turn.wantingLocks.add(callHolder(open.requestId));
  }
}

/** Refuses every call of an RPC that had not started when the run closed. */
export function refuseUnstarted(turn: Turn): void {
  for (const open of [...turn.run.calls.values()]) {
    if (open.kind === 'query') continue;
    endCall(turn, open);
    turn.effects.push({ kind: 'callAnswer', requestId: open.requestId, error: closedError(turn) });
  }
}

function refuseClosed(turn: Turn): void {
  if (!turn.run.isTaking) throw closedError(turn);
}

function closedError(turn: Turn): HoldfastError {
  const { flowId, status, closing } = turn.run.head;
  const name = JSON.stringify(flowId);
  return closing
    ? new HoldfastError('FLOW_CLOSING', `The Flow ${name} is closing as ${closing.status} and takes no calls.`, {
        where: flowId,
      })
    : new HoldfastError('FLOW_NOT_ACTIVE', `The Flow ${name} is ${status}: it cannot be called.`, { where: flowId });
}
