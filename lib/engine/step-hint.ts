import type { StepHint } from '../dispatch';
import { issueId, type ReadyCall } from './ready-pool';

export function hintOf({ kind, ...call }: ReadyCall, shard: number): StepHint {
  return { ...call, kind: 'step', id: issueId(call), shard };
}

export function callOf({ id, shard, ...call }: StepHint): ReadyCall {
  return { ...call, kind: 'ready', taskQueue: call.taskQueue! };
}
