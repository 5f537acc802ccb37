import type { Execution } from './execution';
import { limits } from './limits';

/** Place of an execution's current wait or call among all of the run, in the order in which they began. */
export function issueOf(execution: Execution): number {
  return execution.call?.issue ?? execution.wait?.issue ?? execution.seq;
}

/** When an execution next needs a look after a moment: a timer, the end of back-off or of an attempt, idle locks. */
export function dueOf(execution: Execution, after = Number.NEGATIVE_INFINITY): number | null {
  const { call, wait } = execution;
  let next = Number.POSITIVE_INFINITY;
  const consider = (at: number) => {
    if (at > after && at < next) next = at;
  };
  if (call && call.dueAt !== null) consider(call.dueAt);
  if (call?.state === 'ready' && !call.entered && call.locks.length > 0) {
    consider(Math.max(call.since, after) + limits.lockIdleMs);
  }
  wait?.conditions.forEach((condition, i) => {
    if (condition.kind === 'timer' && !wait.skipped.includes(i)) consider(condition.dueAt);
  });
  return next === Number.POSITIVE_INFINITY ? null : next;
}
