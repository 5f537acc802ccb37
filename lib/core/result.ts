import { HoldfastError } from '../errors';
import { toFailure } from '../values';
import { closeRun, failRun } from './close';
import type {
  ConditionRequest,
  ContinueRequest,
  Decided,
  DecisionRequest,
  Outcome,
  ResultCommand,
  Waited,
} from './command';
import { checkAttribute, checkChannel, isOneOf } from './declared';
import type { ConditionSpec, Execution } from './execution';
import { failAttempt } from './failure-route';
import { limits } from './limits';
import type { Payload } from './payload';
import { atMost, bytesOfStaged, checkBytes, checkStaged } from './staged';
import { checkMovement, scheduleStep, startByOf } from './step';
import { cancelExecution, requestChildren } from './subflow';
import type { Turn } from './turn';

/** Takes the result of an attempt if its token is current, and tells the worker either way (X4, X5). */
export function result(turn: Turn, command: ResultCommand): void {
  const execution = current(turn, command);
  turn.effects.push({
    kind: 'resultTaken',
    worker: command.worker,
    token: command.token,
    accepted: execution !== undefined,
  });
  if (!execution) return;
  const refused = refusal(turn, execution, command.outcome);
  if (refused) {
    failAttempt(turn, execution, {
      failure: toFailure(refused),
      retryable: false,
      failKind: 'definition',
      retryAfterMs: null,
    });
    return;
  }
  take(turn, execution, command);
}

function current(turn: Turn, command: ResultCommand): Execution | undefined {
  const run = turn.flow.run;
  // By its token, which is of one attempt: the run may have been continued meanwhile.
  if (!run?.isTaking) return undefined;
  const execution = run.executions.get(command.execution);
  return execution?.call?.state === 'running' && execution.call.token === command.token ? execution : undefined;
}

function take(turn: Turn, execution: Execution, { outcome, token }: ResultCommand): void {
  switch (outcome.kind) {
    case 'waited':
      requestChildren(turn, outcome.staged.children, null);
      requestChildren(
        turn,
        outcome.conditions.flatMap((condition) => (condition.kind === 'subFlow' ? [condition.child] : [])),
        execution.id,
      );
      turn.emit({
        kind: 'WaitForCompleted',
        execution: execution.id,
        token,
        staged: outcome.staged,
        conditions: outcome.conditions.map((condition) => specOf(condition, turn.now)),
        candidates: outcome.candidates,
      });
      return;
    case 'decided':
      return takeDecision(turn, execution, token, outcome);
    case 'failed':
      return failAttempt(turn, execution, {
        failure: outcome.failure,
        retryable: !outcome.definition,
        failKind: outcome.definition ? 'definition' : 'worker',
        retryAfterMs: outcome.retryAfterMs,
        ...heartbeatOf(turn, token, outcome),
      });
    case 'returned':
      turn.emit({
        kind: 'AttemptReturned',
        execution: execution.id,
        token,
        entered: outcome.entered,
        ...heartbeatOf(turn, token, outcome),
        startBy: startByOf(turn, execution, execution.call!.method, []),
      });
  }
}

/** The newest value there is: the one that came with the outcome, or the last one received before (X3). */
function heartbeatOf(
  turn: Turn,
  token: string,
  outcome: { heartbeat?: Payload | null },
): { heartbeat?: Payload | null } {
  const heartbeat = outcome.heartbeat === undefined ? turn.run.heartbeats.get(token) : outcome.heartbeat;
  return heartbeat === undefined ? {} : { heartbeat };
}

function takeDecision(turn: Turn, execution: Execution, token: string, { staged, decision }: Decided): void {
  const before = decision.cancels ? [...turn.run.executions.keys()] : [];
  const siblingsOf = parentOf(execution);
  turn.emit({
    kind: 'ExecuteCompleted',
    execution: execution.id,
    token,
    staged,
    decision: decision.kind,
    ...decisionFields(execution, decision),
  });
  requestChildren(turn, staged.children, null);
  if (decision.cancels) {
    for (const id of before) {
      const other = turn.run.executions.get(id);
      if (!other || !isOneOf(turn.plan, other.step, decision.cancels.steps)) continue;
      if (decision.cancels.siblingsOnly && parentOf(other) !== siblingsOf) continue;
      cancelExecution(turn, other, `cancelled by ${execution.id}`);
    }
  }
  if (decision.kind === 'forceComplete') closeRun(turn, 'completed', null, null);
  if (decision.kind === 'forceFail') failRun(turn, 'decision', decision.failure!);
  if (decision.kind === 'completeIfEmpty') return;
  if (decision.next) continueAsNew(turn, decision.next);
  for (const movement of decision.movements) {
    scheduleStep(turn, movement, { kind: 'step', stepExecutionId: execution.id });
  }
}

/** Closes the run and begins the next one of the chain, in the same write (N2). */
function continueAsNew(turn: Turn, { input, keep }: ContinueRequest): void {
  const { runId: previousRunId, chainId, generation } = turn.run.head;
  const runId = `${chainId}.${generation + 1}`;
  turn.emit({ kind: 'FlowClosed', status: 'continuedAsNew', failKind: null, failure: null, nextRunId: runId });
  turn.emit({ kind: 'RunContinued', runId, previousRunId, keep });
  const { start } = turn.plan;
  if (start !== null) scheduleStep(turn, { step: start, input, overrides: null }, { kind: 'start' });
}

function decisionFields(execution: Execution, { kind, channels, output, movements }: DecisionRequest) {
  if (kind !== 'completeIfEmpty') return output === undefined ? {} : { output };
  const check = { execution: execution.id, channels: channels!, output: output ?? null, otherwise: movements[0]! };
  return { check };
}

/** Executions which the same one scheduled are siblings (D6). */
function parentOf({ from }: Execution): string {
  return from.kind === 'step' || from.kind === 'failure' ? `${from.kind}:${from.stepExecutionId}` : from.kind;
}

/** Why a result cannot be taken at all; nothing of it is saved then (S8, P9). */
function refusal(turn: Turn, execution: Execution, outcome: Outcome): HoldfastError | undefined {
  try {
    if (outcome.kind === 'waited') checkWait(turn, outcome);
    if (outcome.kind === 'decided') checkDecision(turn, outcome);
    if (outcome.kind === 'waited' || outcome.kind === 'decided') {
      const inputs = outcome.kind === 'decided' ? outcome.decision.movements.map(({ input }) => input) : [];
      checkBytes([...bytesOfStaged(outcome.staged), ...inputs], `The result of ${execution.id}`);
      checkStaged(turn.plan, turn.run, execution.id, execution.call!.locks, outcome.staged);
    }
    return undefined;
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}

function checkWait(turn: Turn, { conditions }: Waited): void {
  atMost(conditions.length, limits.conditionsPerWait, 'conditions in one wait');
  for (const condition of conditions) if (condition.kind === 'channel') checkChannel(turn.plan, condition.address);
}

function checkDecision(turn: Turn, { decision }: Decided): void {
  const { movements, cancels } = decision;
  atMost(movements.length, limits.movementsPerDecision, 'movements in one decision');
  atMost(turn.run.executions.size + movements.length, limits.openExecutions, 'open Step executions');
  for (const movement of movements) checkMovement(turn.plan, movement);
  if (decision.next && turn.plan.start !== null) {
    checkMovement(turn.plan, { step: turn.plan.start, input: decision.next.input, overrides: null });
  }
  for (const name of decision.next?.keep ?? []) if (!turn.plan.attributes[name]) checkAttribute(turn.plan, name);
  for (const name of decision.channels ?? []) {
    if (!turn.plan.channels[name]) checkChannel(turn.plan, name);
  }
  for (const step of cancels?.steps ?? []) checkMovement(turn.plan, { step, input: null, overrides: null });
}

function specOf(condition: ConditionRequest, now: number): ConditionSpec {
  if (condition.kind === 'channel') return condition;
  if (condition.kind === 'subFlow') {
    const { kind, id, child, cancelWithWait } = condition;
    return { kind, id, key: child.key, cancelWithWait };
  }
  // From here on the deadline is absolute (W6).
  return { kind: 'timer', id: condition.id, dueAt: 'afterMs' in condition ? now + condition.afterMs : condition.atMs };
}
