import { HoldfastError } from '../errors';
import type { FlowPlan } from '../plan';
import { call, callGone, callIdle, callResult, startAndCall, startCall } from './call';
import { claim } from './claim';
import type { Command } from './command';
import { skipTimer, stop, updateConfig } from './control';
import { due, heartbeat, workerGone } from './due';
import type { Effect } from './effect';
import type { Event } from './event';
import type { FlowState } from './flow-state';
import { publish, startAndPublish } from './publish';
import { checkRepeat } from './repeat';
import { result } from './result';
import { changeSchedule, registerSchedule } from './schedule';
import { settle } from './settle';
import { start } from './start';
import { storedCommand } from './stored-command';
import { childClosed, childStart, childStarted, childStop, childTold } from './subflow';
import { timeTravel } from './time-travel';
import { type PlanWith, Turn } from './turn';

/** Commands that begin a run where none is open. */
const beginning: ReadonlySet<Command['kind']> = new Set(['start', 'startAndCall', 'startAndPublish', 'childStart']);

export interface Decided {
  readonly events: readonly Event[];
  readonly effects: readonly Effect[];
}

/**
 * Decides one command: changes `flow` by the events it returns and says what is to be done. Pure but for that change: no
 * clock, no chance, no input or output. A command that is refused changes nothing and is answered with its error.
 *
 * @param plan the plan the command names, or for one without, the plan that decided last.
 * @param now the shard's clock, milliseconds since the epoch.
 * @param planWith finds a plan of the Flow that has a Step which `plan` lacks: code of several versions may be about.
 */
export function decide(flow: FlowState, plan: FlowPlan, command: Command, now: number, planWith?: PlanWith): Decided {
  const turn = new Turn(flow, plan, now, beginning.has(command.kind) && !flow.run?.isOpen, planWith);
  try {
    act(turn, turn.names ? storedCommand(command, turn.names) : command);
  } catch (error) {
    if (!(error instanceof HoldfastError) || turn.events.length > 0) throw error;
    return { events: [], effects: [{ kind: 'answer', error }] };
  }
  settle(turn);
  turn.learnNames();
  return { events: turn.events, effects: turn.effects };
}

function act(turn: Turn, command: Command): void {
  if ('digest' in command) {
    const known = checkRepeat(turn.flow, command.requestId, command.digest, turn.now);
    if (known) return turn.answer(known.answer);
  }
  switch (command.kind) {
    case 'start':
      return start(turn, command);
    case 'publish':
      return publish(turn, command);
    case 'stop':
      return stop(turn, command);
    case 'skipTimer':
      return skipTimer(turn, command);
    case 'updateConfig':
      return updateConfig(turn, command);
    case 'registerSchedule':
      return registerSchedule(turn, command);
    case 'changeSchedule':
      return changeSchedule(turn, command);
    case 'timeTravel':
      return timeTravel(turn, command);
    case 'claim':
      return claim(turn, command);
    case 'result':
      return result(turn, command);
    case 'due':
      return due(turn, command);
    case 'roll':
      if (turn.flow.run?.isOpen) turn.emit({ kind: 'HistoryRolled' });
      return;
    case 'workerGone':
      return workerGone(turn, command);
    case 'startAndPublish':
      return startAndPublish(turn, command);
    case 'startAndCall':
      return startAndCall(turn, command);
    case 'call':
      return call(turn, command);
    case 'callStart':
      return startCall(turn, command);
    case 'callResult':
      return callResult(turn, command);
    case 'callIdle':
      return callIdle(turn, command);
    case 'callGone':
      return callGone(turn, command);
    case 'childStart':
      return childStart(turn, command);
    case 'childStop':
      return childStop(turn, command);
    case 'childStarted':
      return childStarted(turn, command);
    case 'childClosed':
      return childClosed(turn, command);
    case 'childTold':
      return childTold(turn, command);
    case 'heartbeat':
      return heartbeat(turn, command);
  }
}
