import type { Failure } from '../../../values';
import { type NodeOptions, nonRetryableName, type ProgramNode } from '../workload/program';
import type { CallModel } from './execution-model';

const totalMs = 4 * 3_600_000;

/** When the next attempt may start by the policy; null for never (X1). */
export function nextAttemptAt(
  node: ProgramNode,
  { retry }: NodeOptions,
  call: CallModel,
  failure: Failure,
  at: number,
): number | null {
  if (failure.name === nonRetryableName || failure.name === 'StartTimeout' || failure.name === 'DefinitionError') {
    return null;
  }
  if (retry.maximumAttempts !== null && call.attempt >= retry.maximumAttempts) return null;
  const script = call.method === 'waitFor' ? node.waitFor : node.execute;
  const asked = script.how === 'retryAfter' && failure.message.startsWith('attempt ');
  const grown = retry.initialInterval * retry.coefficient ** (call.attempt - 1);
  const delay = asked ? 700 : Math.max(1, Math.ceil(Math.min(grown, retry.maximumInterval)));
  if (call.firstAt !== null && at + delay - call.firstAt > totalMs) return null;
  return at + delay;
}
