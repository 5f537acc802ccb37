import type { Failure } from '../values';
import type { ClosedStatus, FailKind } from './event';
import { hasStartedCalls } from './open-call';
import type { Turn } from './turn';

/**
 * Begins to close the run: every execution that is left is cancelled in the same write (D3, O3). RPCs that had started are
 * finished first, but not for `terminated`; without any, the run is closed at once (R9). The first closing wins.
 */
export function closeRun(turn: Turn, status: ClosedStatus, failKind: FailKind | null, failure: Failure | null): void {
  for (const execution of [...turn.run.executions.keys()]) {
    turn.emit({ kind: 'StepCancelled', execution, reason: `the Flow is closing as ${status}` });
  }
  if (status !== 'terminated' && hasStartedCalls(turn.run)) {
    if (!turn.run.head.closing) turn.emit({ kind: 'FlowClosing', status, failKind, failure });
  } else turn.emit({ kind: 'FlowClosed', status, failKind, failure });
}

export function failRun(turn: Turn, failKind: FailKind, failure: Failure): void {
  closeRun(turn, 'failed', failKind, failure);
}
