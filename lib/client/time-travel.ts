import type { Started, TravelTarget } from '../core';
import { HoldfastError } from '../errors';
import { checkId } from '../values';
import type { Requests } from './requests';
import type { RequestOptions } from './settings';

/** A moment in the history of a run (K4). */
export type Moment =
  | 'beginning'
  /** Just before a method of a Step execution was first handed out. */
  | { readonly step: string; readonly method: 'waitFor' | 'execute' }
  /** Right after an event, by its number in `history`. */
  | { readonly event: number };

export interface TimeTravelOptions extends RequestOptions {
  /** The run to go back in [the latest; for a Step the latest of its chain that has it]. */
  readonly runId?: string;
  /** Whether messages and RPCs that clients have sent since that moment are applied again [true]. */
  readonly reapply?: boolean;
  /** Why, for the history. */
  readonly reason?: string;
}

export async function timeTravel(
  requests: Requests,
  flowId: string,
  to: Moment,
  { requestId, runId, reapply = true, reason = '', ...call }: TimeTravelOptions,
): Promise<Started> {
  const target = lower(to);
  const what = { runId: runId ?? null, to: target, reapply, reason };
  const identity = requests.identity(requestId, ['timeTravel', what]);
  const command = { kind: 'timeTravel', ...identity, newRunId: requests.newRunId(), ...what } as const;
  return (await requests.send(flowId, command, call)) as Started;
}

function lower(to: Moment): TravelTarget {
  if (to === 'beginning') return { kind: 'beginning' };
  if (typeof to === 'object' && to !== null) {
    if ('event' in to && Number.isSafeInteger(to.event)) return { kind: 'event', event: to.event };
    if ('step' in to && (to.method === 'waitFor' || to.method === 'execute')) {
      return { kind: 'step', execution: checkId(to.step, 'step'), method: to.method };
    }
  }
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `timeTravel goes to 'beginning', to { step, method } or to { event }, not to ${JSON.stringify(to)}.`,
  );
}
