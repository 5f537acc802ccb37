import { defaultMethod, type FlowPlan, type MethodName, type MethodPlan, type RetryPolicy } from '../plan';
import type { Failure } from '../values';
import type { Call, Execution } from './execution';

const YEAR_MS = 365 * 86_400_000;

/** Options of one method of an execution: its Step's, with what the movement replaced (S9). */
export function methodPlan(
  plan: FlowPlan,
  execution: Pick<Execution, 'step' | 'overrides'>,
  method: MethodName,
): MethodPlan {
  // A Step that newer code dropped keeps its executions waiting; its options are then the defaults.
  return { ...(plan.steps[execution.step]?.[method] ?? defaultMethod), ...execution.overrides?.[method] };
}

/**
 * When the next attempt may start, or null if the policy allows none (X1). `lot` from 0 to 1 decides the jitter, so that
 * deciding stays without chance.
 */
export function nextRetryAt(
  policy: RetryPolicy,
  call: Pick<Call, 'attempt' | 'firstAt'>,
  failure: Failure,
  now: number,
  lot: number,
  retryAfterMs: number | null,
): number | null {
  if (policy.nonRetryable.includes(failure.name)) return null;
  if (policy.maximumAttempts !== null && call.attempt >= policy.maximumAttempts) return null;
  const at = now + (retryAfterMs ?? backoffMs(policy, call.attempt, lot));
  if (policy.totalMs !== null && at - (call.firstAt ?? now) > policy.totalMs) return null;
  return at;
}

/** Delay before the attempt after `attempt`: finite, at least 1 ms, never above the policy's maximum nor a year. */
export function backoffMs(policy: RetryPolicy, attempt: number, lot: number): number {
  const cap = Math.min(policy.maximumIntervalMs, YEAR_MS);
  const grown = policy.initialIntervalMs * policy.coefficient ** (attempt - 1);
  const whole = Math.min(Number.isNaN(grown) ? cap : grown, cap);
  return Math.max(1, Math.ceil(whole * (1 - policy.jitter * lot)));
}

/** A number from 0 to 1 that depends only on the text. */
export function lotOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // One more mix: texts that differ only in their last character would land close together.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash >>> 0) / 0xffffffff;
}
