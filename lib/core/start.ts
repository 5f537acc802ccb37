import { HoldfastError } from '../errors';
import type { FlowConfig, FlowPlan } from '../plan';
import { closeRun } from './close';
import type { MovementRequest, StartCommand } from './command';
import { checkAttribute } from './declared';
import type { RunState } from './run-state';
import { checkBytes } from './staged';
import { checkMovement, scheduleStep } from './step';
import type { Turn } from './turn';

export interface Started {
  readonly runId: string;
}

/** Begins a run (F3–F6, F8). A repeat was answered before this is called (F5). */
export function start(turn: Turn, command: StartCommand): void {
  checkStart(turn, command);
  beginRun(turn, command);
  const answer: Started = { runId: command.runId };
  turn.flow.remember(command.requestId, command.digest, answer, turn.now);
  turn.answer(answer);
}

/** Throws unless the run may be begun; nothing is changed. */
export function checkStart(turn: Turn, command: StartCommand): void {
  const { plan } = turn;
  const previous = turn.flow.run;
  if (previous) checkReuse(previous, command);
  const first = firstMovement(plan, command);
  if (first) checkMovement(plan, first);
  else if (command.input !== null) {
    throw new HoldfastError('INVALID_ARGUMENT', `The Flow ${plan.name} has no start Step and takes no input.`);
  }
  for (const [address] of command.attributes) checkAttribute(plan, address);
  checkBytes([command.input, ...command.attributes.map(([, value]) => value)], 'The start');
}

/** Emits the events of a run's beginning; the command was checked. */
export function beginRun(turn: Turn, command: StartCommand): void {
  const { plan, now } = turn;
  const previous = turn.flow.run;
  const first = firstMovement(plan, command);
  if (previous?.isOpen) {
    closeRun(turn, 'terminated', null, {
      name: 'Terminated',
      message: `A new start of ${previous.head.flowId} replaced this run.`,
    });
  }
  if (previous) refuseCalls(turn, previous, 'A new run');
  const timeoutMs = command.timeoutMs === undefined ? plan.timeoutMs : command.timeoutMs;
  turn.emit({
    kind: 'FlowStarted',
    flowId: turn.flow.head.flowId,
    runId: command.runId,
    flow: plan.name,
    plan: plan.fingerprint,
    requestId: command.requestId,
    config: { ...plan.config, ...definedOf(command.config) },
    deadlineAt: timeoutMs === null ? null : now + timeoutMs,
    attributes: command.attributes,
    ...(command.parent && { parent: command.parent }),
    ...(turn.names && { names: turn.names }),
    ...(command.trace && { trace: command.trace }),
  });
  if (first) {
    const notBefore = command.startDelayMs > 0 ? now + command.startDelayMs : null;
    scheduleStep(turn, first, { kind: 'start' }, null, notBefore);
  }
}

/** Who waits for a call of a run that another one replaces is told so, and its handler that nobody waits for it (O2). */
export function refuseCalls(turn: Turn, { calls, head }: RunState, what: string): void {
  for (const { requestId, rpc, state, worker, token } of calls.values()) {
    if (state === 'started') {
      turn.effects.push({ kind: 'abort', worker: worker!, token: token!, reason: 'another run began' });
    }
    const message = `${what} of ${JSON.stringify(head.flowId)} began before ${rpc} was answered.`;
    const error = new HoldfastError('FLOW_NOT_ACTIVE', message, { where: head.flowId });
    turn.effects.push({ kind: 'callAnswer', requestId, error });
  }
  calls.clear();
}

function firstMovement(plan: FlowPlan, command: StartCommand): MovementRequest | null {
  return plan.start === null ? null : { step: plan.start, input: command.input, overrides: null };
}

function checkReuse(previous: RunState, command: StartCommand): void {
  const { flowId, flow, runId, status } = previous.head;
  const allowed = {
    reject: false,
    ifPreviousFailed: !previous.isOpen && status !== 'completed',
    ifClosed: !previous.isOpen,
    terminateRunning: true,
  }[command.reuse];
  if (allowed) return;
  throw new HoldfastError(
    'FLOW_ALREADY_EXISTS',
    `The flowId ${JSON.stringify(flowId)} is taken by run ${runId} of ${flow}, which is ${status}; idReuse is '${command.reuse}'.`,
    { where: flowId },
  );
}

function definedOf(config: Partial<FlowConfig>): Partial<FlowConfig> {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}
