import type { Event } from '../../../core';
import { callName } from '../workload/journal';
import { type Seen, sameSeen, showSeen } from '../workload/seen';
import type { Check, Witness } from './check';
import type { CallModel, ExecutionModel } from './execution-model';
import { nextAttemptAt } from './retry-model';
import type { RunModel } from './run-model';

type Of<K extends Event['kind']> = Event & { readonly kind: K };

export function locksGranted(run: RunModel, execution: ExecutionModel, event: Of<'LocksGranted'>, check: Check): void {
  const call = execution.call!;
  const obstacle = run.locks.obstacle(execution.id);
  check(obstacle === undefined, 'L2', `${execution.id} was granted its locks, and ${obstacle}`);
  run.locks.grant(execution.id);
  call.state = 'ready';
  call.since = event.at;
}

export function locksReturned(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'LocksReturned'>,
  check: Check,
): void {
  const call = execution.call!;
  check(call.state === 'ready' && event.at >= call.since + 5_000, 'L3', `${execution.id} lost its locks too early`);
  check(!call.entered, 'L3', `${execution.id} lost its locks between two attempts`);
  run.locks.release(execution.id);
  run.locks.wait(execution.id, call.locks);
  call.state = 'locked';
  call.since = event.at;
  // It was handed out, perhaps, and given back before anybody saw anything.
  call.expected = null;
}

export function attemptStarted(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'AttemptStarted'>,
  check: Check,
  witness: Witness,
): void {
  const call = execution.call!;
  const what = `${execution.id}.${call.method} #${event.attempt}`;
  const due = call.state === 'ready' || (call.state === 'backoff' && event.at >= call.notBefore && !call.exhausted);
  check(due, 'X1', `${what} started while it was ${call.state}, not before ${call.notBefore}, at ${event.at}`);
  check(event.method === call.method, 'S1', `${what} started as ${event.method}`);
  check(event.attempt === call.attempt + 1, 'X1', `${what} started after attempt ${call.attempt}`);
  check(event.durability === call.durability, 'P1', `${what} is ${event.durability}, not ${call.durability}`);
  check(!witness.tokens.has(event.token), 'X4', `${what} got the token ${event.token}, which was used before`);
  const locked = call.locks.length === 0 || run.locks.holds(execution.id);
  check(locked, 'L3', `${what} started without its locks`);
  call.state = 'running';
  call.attempt = event.attempt;
  call.firstAt ??= event.at;
  call.startedAt = event.at;
  call.token = event.token;
  call.worker = event.worker;
  call.expected ??= run.lookOf(execution, call.method, witness);
  const { worker, token } = event;
  const { chainId } = run;
  witness.tokens.set(token, { chainId, execution: execution.id, method: call.method, worker, isRunning: true });
  const body = witness.journal.withToken(token);
  // An ASYNC body may have been entered before this was durable.
  if (body) checkSeen(call, body, what, check);
}

export function checkSeen(
  call: Pick<CallModel, 'expected'>,
  body: { readonly seen: Seen },
  what: string,
  check: Check,
): void {
  if (sameSeen(call.expected!, body.seen)) return;
  check(false, 'S6', `${what} saw ${showSeen(body.seen)}, and should have seen ${showSeen(call.expected!)}`);
}

export function attemptFailed(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'AttemptFailed'>,
  check: Check,
  witness: Witness,
): void {
  const call = execution.call!;
  const { failure } = event;
  const what = `${execution.id}.${call.method} #${call.attempt}`;
  check(event.token === call.token, 'X4', `${what} failed by the token ${event.token}, and ${call.token} is current`);
  check(event.attempt === call.attempt, 'X1', `${what} failed as attempt ${event.attempt}`);
  const early = (after: number) => `${what} failed as ${failure.name} at ${event.at}, before ${after}`;
  if (failure.name === 'StartTimeout') {
    const due = call.since + execution.options.startTimeout!;
    check(call.state === 'ready' && event.at >= due, 'W6', early(due));
  } else check(call.state === 'running', 'X4', `${what} failed while it was ${call.state}`);
  if (failure.name === 'MethodTimeout') {
    const due = call.startedAt + execution.options.timeout;
    check(event.at >= due, 'S9', early(due));
  }
  if (failure.name === 'WorkerLost') workerLost(execution, call, failure.message, event.at, check, witness);
  const next = nextAttemptAt(execution.node, execution.options, call, failure, event.at);
  check(event.retryAt === next, 'X1', `${what}: the next attempt is at ${event.retryAt}, and should be at ${next}`);
  checkHeartbeat(run, execution, event, check, witness);
  endToken(call, witness);
  call.state = 'backoff';
  call.since = event.at;
  call.notBefore = event.retryAt ?? Number.POSITIVE_INFINITY;
  call.exhausted = event.retryAt === null;
}

/** A worker may be taken for lost only if it was silent, or has ended (X2, X10). */
function workerLost(
  execution: ExecutionModel,
  call: CallModel,
  message: string,
  at: number,
  check: Check,
  witness: Witness,
): void {
  const worker = call.worker!;
  const what = `${execution.id}.${call.method} #${call.attempt} of ${worker}`;
  if (message.endsWith('is gone.')) {
    const left = witness.hasLeft(worker);
    check(left, 'X10', `${what} failed as if its worker were gone, which lives`);
    return;
  }
  if (witness.timesAreVague) return;
  const timeout = execution.options.heartbeatTimeout;
  const since = Math.max(witness.lastHeard(worker, at - 1_000) ?? 0, witness.ownerSince, call.startedAt);
  // Looked at up to a second before it was decided.
  check(at - since >= timeout, 'X2', `${what} failed after ${at - since} ms of silence; ${timeout} ms are allowed`);
}

/** A value of a heartbeat comes from an attempt that gave it (X3). */
function checkHeartbeat(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'AttemptFailed'>,
  check: Check,
  witness: Witness,
): void {
  if (event.heartbeat == null || event.token === null) return;
  const { method } = execution.call!;
  const call = callName({ chainId: run.chainId, execution: execution.id, method });
  const beats = witness.journal.ofCall(call).flatMap((body) => body.beats);
  const known = beats.some((beat) => witness.decode(event.heartbeat!) === beat);
  check(known, 'X3', `${execution.id}.${method} keeps a heartbeat that no attempt gave`);
}

export function attemptReturned(
  execution: ExecutionModel,
  event: Of<'AttemptReturned'>,
  check: Check,
  witness: Witness,
): void {
  const call = execution.call!;
  const what = `${execution.id}.${call.method} #${call.attempt}`;
  const current = call.state === 'running' && event.token === call.token;
  check(current, 'X4', `${what} was given back by ${event.token}, and ${call.token} is current`);
  const entered = witness.journal.withToken(event.token) !== undefined;
  check(event.entered || !entered, 'X9', `${what} was given back as not entered, and its body ran`);
  endToken(call, witness);
  call.entered ||= event.entered;
  call.state = 'ready';
  call.attempt--;
  call.since = event.at;
}

export function endToken(call: CallModel, witness: Witness): void {
  const token = call.token === null ? undefined : witness.tokens.get(call.token);
  if (token) token.isRunning = false;
  call.token = null;
}
