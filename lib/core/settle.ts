import { admit, mayClose, refuseUnstarted } from './call';
import { closeRun } from './close';
import { grantLocks } from './lock';
import { hasStartedCalls } from './open-call';
import { readyEffect, scheduleStep } from './step';
import { admitChildren } from './subflow';
import type { Turn } from './turn';
import { satisfyWaits } from './wait';

/**
 * Lets everything happen that the command has made possible: waits, locks, closing, calls that became ready. While a
 * transactional call has its window, nothing does (R7).
 */
export function settle(turn: Turn): void {
  const { run } = turn.flow;
  if (!run) return;
  if (run.window !== null) return;
  if (run.isTaking) admitChildren(turn);
  while (turn.run.isTaking) {
    if (satisfyWaits(turn) || grantLocks(turn) || checkClosing(turn) || admitHeld(turn)) continue;
    break;
  }
  const { closing } = turn.run.head;
  if (closing && !hasStartedCalls(turn.run)) turn.emit({ kind: 'FlowClosed', ...closing });
  if (!turn.run.isTaking) refuseUnstarted(turn);
  for (const id of turn.maybeReady) {
    const execution = turn.run.executions.get(id);
    if (execution?.call?.state === 'ready') turn.effects.push(readyEffect(turn, execution));
  }
}

/** Tests the oldest `completeIfEmpty`, or completes as a branch has asked, once no started RPC is left (D2, D5). */
function checkClosing(turn: Turn): boolean {
  const { run } = turn;
  const [check] = run.head.closeChecks;
  const graceful = run.head.completing && run.executions.size === 0;
  if ((!check && !graceful) || hasStartedCalls(run)) return false;
  if (!check) {
    closeRun(turn, 'completed', null, null);
    return true;
  }
  const empty = check.channels.every((name) => run.messages.isEmpty(name));
  turn.emit({ kind: 'CloseChecked', empty });
  if (empty) closeRun(turn, 'completed', null, null);
  else scheduleStep(turn, check.otherwise, { kind: 'step', stepExecutionId: check.execution });
  return true;
}

function admitHeld(turn: Turn): boolean {
  if (mayClose(turn)) return false;
  let admitted = false;
  for (const open of turn.run.calls.values()) {
    if (open.state !== 'held') continue;
    admit(turn, open);
    admitted = true;
  }
  return admitted;
}
