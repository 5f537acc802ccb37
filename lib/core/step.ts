import { HoldfastError } from '../errors';
import type { FlowPlan, MethodName } from '../plan';
import type { MovementRequest } from './command';
import type { ReadyEffect } from './effect';
import type { CallTerms } from './event';
import type { Execution, LockClaim, RecoveryRecord, ScheduledBy } from './execution';
import { claimsOf } from './lock';
import type { Payload } from './payload';
import { methodPlan } from './policy';
import type { Turn } from './turn';

/** Schedules an execution of a Step and gives it its id (S2). The movement must have been checked (`checkMovement`). */
export function scheduleStep(
  turn: Turn,
  movement: MovementRequest,
  from: ScheduledBy,
  recovery: RecoveryRecord | null = null,
  notBefore: number | null = null,
): string {
  const { step, input, overrides } = movement;
  const id = nextExecutionId(turn, step);
  const plan = turn.planFor(step);
  const method: MethodName = plan.steps[step]!.hasWaitFor ? 'waitFor' : 'execute';
  const locks = method === 'execute' ? lockClaims(plan, movement, input) : [];
  turn.emit({
    kind: 'StepScheduled',
    execution: id,
    step,
    call: callTerms(turn, movement, method, locks, notBefore !== null),
    input,
    from,
    overrides,
    recovery,
    notBefore,
  });
  return id;
}

export function nextExecutionId(turn: Turn, step: string): string {
  return `${step}-${(turn.run.head.counters[step] ?? 0) + 1}`;
}

/** Throws a definition error if the plan has no such Step, or its lock key is not in the input. */
export function checkMovement(plan: FlowPlan, movement: MovementRequest): void {
  const step = plan.steps[movement.step];
  if (!step) {
    throw new HoldfastError('DEFINITION', `The Flow ${plan.name} has no Step ${movement.step}.`, {
      where: plan.name,
      fix: `Add ${movement.step} to its static steps.`,
    });
  }
  const recovery = movement.overrides?.onFailure;
  if (recovery && !plan.steps[recovery]) {
    throw new HoldfastError('DEFINITION', `The Flow ${plan.name} has no Step ${recovery} to recover with.`, {
      where: plan.name,
    });
  }
  if (!step.hasWaitFor) lockClaims(plan, movement, movement.input);
}

function lockClaims(plan: FlowPlan, movement: Pick<MovementRequest, 'step' | 'overrides'>, input: Payload | null) {
  return claimsOf(movement.overrides?.locks ?? plan.steps[movement.step]?.locks ?? [], input, movement.step);
}

/** The locks `execute` takes, or the definition error of a key that is not in the input. */
export function claimsForExecute(turn: Turn, execution: Execution): LockClaim[] | HoldfastError {
  try {
    const input = execution.input === null ? null : turn.run.payloadOf(execution.input);
    return lockClaims(turn.planFor(execution.step), execution, input);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}

/** What is settled when a call is scheduled: its durability is that of this moment (P1, F9). */
export function callTerms(
  turn: Turn,
  execution: Pick<Execution, 'step' | 'overrides'>,
  method: MethodName,
  locks: readonly LockClaim[],
  delayed = false,
): CallTerms {
  const durability =
    methodPlan(turn.planFor(execution.step), execution, method).durability ?? turn.run.head.config.durability;
  return { method, durability, locks, startBy: delayed ? null : startByOf(turn, execution, method, locks) };
}

/** By when a worker must have taken a call that is ready from now on; null: any time, or it is still to get its locks. */
export function startByOf(
  turn: Turn,
  execution: Pick<Execution, 'step' | 'overrides'>,
  method: MethodName,
  locks: readonly LockClaim[],
): number | null {
  if (locks.length > 0) return null;
  const { startTimeoutMs } = methodPlan(turn.planFor(execution.step), execution, method);
  return startTimeoutMs === null ? null : turn.now + startTimeoutMs;
}

export function readyEffect(turn: Turn, execution: Execution): ReadyEffect {
  const call = execution.call!;
  const plan = turn.planFor(execution.step);
  return {
    kind: 'ready',
    execution: execution.id,
    issue: call.issue,
    step: execution.step,
    taskQueue: methodPlan(plan, execution, call.method).taskQueue ?? plan.taskQueue,
  };
}
