import { callHolder } from './open-call';
import type { Turn } from './turn';

/** Has `settle` look at everything that waits for messages, locks or workers. */
export function lookAtAll(turn: Turn): void {
  const { run } = turn;
  for (const { id, wait, call } of run.executions.values()) {
    if (wait) turn.waitsToTry.add(id);
    if (call?.state === 'locked') turn.wantingLocks.add(id);
    if (call?.state === 'ready') turn.maybeReady.add(id);
  }
  for (const open of run.calls.values()) {
    if (open.state === 'locked') turn.wantingLocks.add(callHolder(open.requestId));
  }
}
