import { HoldfastError } from '../errors';
import type { MethodName } from '../plan';
import { type Failure, toFailure } from '../values';
import { failRun } from './close';
import type { MovementRequest } from './command';
import type { FailKind } from './event';
import type { Execution, Progress } from './execution';
import type { Payload } from './payload';
import { lotOf, methodPlan, nextRetryAt } from './policy';
import { callTerms, checkMovement, claimsForExecute, nextExecutionId, scheduleStep } from './step';
import type { Turn } from './turn';

export interface AttemptFailure {
  readonly failure: Failure;
  /** false: the failure is not retried whatever the policy says (S8, start timeout). */
  readonly retryable: boolean;
  readonly failKind: FailKind;
  readonly retryAfterMs: number | null;
  readonly heartbeat?: Payload | null;
}

/** Ends an attempt without success: the next one after its back-off, or the failure route when there is none (X1, X7, X8). */
export function failAttempt(turn: Turn, execution: Execution, failed: AttemptFailure): void {
  const call = execution.call!;
  const { retry } = methodPlan(turn.planFor(execution.step), execution, call.method);
  const lot = lotOf(`${turn.run.head.runId}/${execution.id}/${call.method}/${call.attempt}`);
  const heartbeat = failed.heartbeat === undefined ? turn.run.heartbeats.get(call.token ?? '') : failed.heartbeat;
  const retryAt = failed.retryable
    ? nextRetryAt(retry, call, failed.failure, turn.now, lot, failed.retryAfterMs)
    : null;
  turn.emit({
    kind: 'AttemptFailed',
    execution: execution.id,
    method: call.method,
    attempt: call.attempt,
    token: call.token,
    failure: failed.failure,
    retryAt,
    ...(heartbeat === undefined ? {} : { heartbeat }),
  });
  const entered = call.entered || call.state === 'running';
  if (retryAt === null) route(turn, execution, call.method, call.attempt, failed.failure, failed.failKind, entered);
}

/** A rule of the definition was broken where no attempt is running. */
export function routeDefinition(turn: Turn, execution: Execution, method: MethodName, error: HoldfastError): void {
  route(turn, execution, method, execution.call?.attempt ?? 0, toFailure(error), 'definition', true);
}

function route(
  turn: Turn,
  execution: Execution,
  method: MethodName,
  attempts: number,
  failure: Failure,
  failKind: FailKind,
  entered: boolean,
): void {
  const step = turn.planFor(execution.step).steps[execution.step];
  const { overrides } = execution;
  if (method === 'waitFor' && (overrides?.onWaitForFailure ?? step?.onWaitForFailure) === 'proceed') {
    const locks = claimsForExecute(turn, execution);
    if (Array.isArray(locks)) {
      const call = callTerms(turn, execution, 'execute', locks);
      turn.emit({ kind: 'WaitForProceeded', execution: execution.id, failure, call });
      return;
    }
  }
  // An ASYNC start may have been lost unseen (X9).
  const started = entered || execution.call?.durability === 'ASYNC';
  const progress: Progress = started ? 'NOT_COMPLETED' : 'NOT_STARTED';
  const recovery = method === 'execute' ? recoveryOf(turn, execution) : null;
  if (recovery) {
    const id = nextExecutionId(turn, recovery.step);
    turn.emit({ kind: 'StepFailed', execution: execution.id, failure, attempts, progress, recovery: id });
    const from = { kind: 'failure', stepExecutionId: execution.id } as const;
    scheduleStep(turn, recovery, from, { stepExecutionId: execution.id, failure, attempts, progress });
    return;
  }
  turn.emit({ kind: 'StepFailed', execution: execution.id, failure, attempts, progress, recovery: null });
  failRun(turn, failKind, failure);
}

/** The movement to the recovery Step, with the same input; null where there is none or it cannot be scheduled (X8). */
function recoveryOf(turn: Turn, execution: Execution): MovementRequest | null {
  const { overrides } = execution;
  const plan = turn.planFor(execution.step);
  const step =
    overrides?.onFailure !== undefined ? overrides.onFailure : (plan.steps[execution.step]?.onFailure ?? null);
  if (step === null) return null;
  const input = execution.input === null ? null : turn.run.payloadOf(execution.input);
  const movement = { step, input, overrides: null };
  try {
    checkMovement(plan, movement);
    return movement;
  } catch (error) {
    if (error instanceof HoldfastError) return null;
    throw error;
  }
}
