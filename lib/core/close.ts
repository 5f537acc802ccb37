import type { Failure } from '../values';
import type { ClosedStatus, FailKind } from './event';
import type { Turn } from './turn';

/** Closes the run at once: every execution that is left is cancelled in the same write (D3, O3). */
export function closeRun(turn: Turn, status: ClosedStatus, failKind: FailKind | null, failure: Failure | null): void {
  for (const execution of [...turn.run.executions.keys()]) {
    turn.emit({ kind: 'StepCancelled', execution, reason: `the Flow is closing as ${status}` });
  }
  turn.emit({ kind: 'FlowClosed', status, failKind, failure });
}

export function failRun(turn: Turn, failKind: FailKind, failure: Failure): void {
  closeRun(turn, 'failed', failKind, failure);
}
