import { closeRun } from './close';
import { grantLocks } from './lock';
import { readyEffect } from './step';
import type { Turn } from './turn';
import { satisfyWaits } from './wait';

/** Lets everything happen that the command has made possible: waits, locks, graceful completion, calls that became ready. */
export function settle(turn: Turn): void {
  while (turn.flow.run?.isOpen) {
    if (satisfyWaits(turn) || grantLocks(turn)) continue;
    if (turn.run.head.completing && turn.run.executions.size === 0) closeRun(turn, 'completed', null, null);
    break;
  }
  for (const id of turn.maybeReady) {
    const execution = turn.flow.run?.executions.get(id);
    if (execution?.call?.state === 'ready') turn.effects.push(readyEffect(turn, execution));
  }
}
