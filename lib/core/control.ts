import { HoldfastError } from '../errors';
import { closeRun } from './close';
import type { SkipTimerCommand, StopCommand, UpdateConfigCommand } from './command';
import { checkChain } from './declared';
import type { Turn } from './turn';

/** Closes the run as the client asked; the first stop wins (O3). On a closed run it changes nothing and says how it closed. */
export function stop(turn: Turn, command: StopCommand): void {
  const run = openRun(turn, 'stop', true);
  checkChain(run, command.chainId);
  if (run.isTaking || (run.isOpen && command.how === 'terminate')) {
    // Its call is refused with the others when the run has closed.
    run.window = null;
    const failure = { name: 'Stopped', message: command.reason };
    if (command.how === 'fail') closeRun(turn, 'failed', 'client', failure);
    else closeRun(turn, command.how === 'cancel' ? 'cancelled' : 'terminated', null, failure);
  }
  const answer = { status: run.head.status };
  turn.flow.remember(command.requestId, command.digest, answer, turn.now);
  turn.answer(answer);
}

/** Makes a pending timer count as fired (W7). */
export function skipTimer(turn: Turn, command: SkipTimerCommand): void {
  const run = openRun(turn, 'skip a timer of', false);
  const wait = run.executions.get(command.execution)?.wait;
  const timers = (wait?.conditions ?? []).flatMap((condition, i) =>
    condition.kind === 'timer' && (command.timer === null || condition.id === command.timer) ? [i] : [],
  );
  if (timers.length !== 1) {
    const asked = command.timer === null ? 'exactly one timer' : `a timer ${JSON.stringify(command.timer)}`;
    throw new HoldfastError('STEP_NOT_FOUND', `${command.execution} is not waiting for ${asked}.`, {
      where: run.head.flowId,
    });
  }
  if (!wait!.skipped.includes(timers[0]!)) {
    turn.emit({ kind: 'TimerSkipped', execution: command.execution, condition: timers[0]! });
  }
  turn.flow.remember(command.requestId, command.digest, null, turn.now);
  turn.answer(null);
}

/** Changes the run's settings for what is scheduled from here on (F9). */
export function updateConfig(turn: Turn, command: UpdateConfigCommand): void {
  const run = openRun(turn, 'configure', false);
  turn.emit({ kind: 'ConfigChanged', config: { ...run.head.config, ...command.config } });
  turn.flow.remember(command.requestId, command.digest, null, turn.now);
  turn.answer(null);
}

function openRun(turn: Turn, what: string, closedToo: boolean) {
  const { run, head } = turn.flow;
  if (run && (run.isTaking || closedToo)) return run;
  if (run) {
    throw new HoldfastError(
      'FLOW_NOT_ACTIVE',
      `Cannot ${what} ${JSON.stringify(head.flowId)}: it is ${run.head.status}.`,
    );
  }
  throw new HoldfastError('FLOW_NOT_FOUND', `There is no Flow ${JSON.stringify(head.flowId)} to ${what}.`);
}
