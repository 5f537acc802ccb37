import type { MethodOptions, RetryOptions } from '../authoring';
import { defaultRetry, type MethodPlan, type RetryPolicy } from '../plan/plan';
import { show } from './finding';
import type { OptionReader } from './read-options';

export const methodOptionNames = [
  'timeout',
  'heartbeatTimeout',
  'startTimeout',
  'retry',
  'durability',
  'taskQueue',
] as const;

const retryOptionNames = [
  'initialInterval',
  'coefficient',
  'maximumInterval',
  'maximumAttempts',
  'totalDuration',
  'jitter',
  'nonRetryable',
] as const;

/** The fields that the options give, over `base`; a retry policy is replaced field by field (S9). */
export function lowerMethod(
  options: MethodOptions,
  base: Partial<MethodPlan>,
  read: OptionReader,
): Partial<MethodPlan> {
  const { timeout, heartbeatTimeout, startTimeout, retry, durability, taskQueue } = options;
  const plan: { -readonly [K in keyof MethodPlan]?: MethodPlan[K] } = { ...base };
  if (timeout !== undefined) plan.timeoutMs = read.duration('timeout', timeout, 1, 1);
  if (heartbeatTimeout !== undefined) {
    plan.heartbeatTimeoutMs = read.duration('heartbeatTimeout', heartbeatTimeout, 1, 1);
  }
  if (startTimeout !== undefined) {
    plan.startTimeoutMs = startTimeout === null ? null : read.duration('startTimeout', startTimeout, 0);
  }
  if (retry !== undefined) plan.retry = lowerRetry(retry, base.retry ?? defaultRetry, read.in('retry'));
  if (durability !== undefined) plan.durability = read.oneOf('durability', durability, ['SYNC', 'ASYNC'], 'SYNC');
  if (taskQueue !== undefined) plan.taskQueue = read.queue('taskQueue', taskQueue, 'default');
  return plan;
}

function lowerRetry(options: RetryOptions, base: RetryPolicy, read: OptionReader): RetryPolicy {
  const given = read.object(options, retryOptionNames);
  const plan: { -readonly [K in keyof RetryPolicy]: RetryPolicy[K] } = { ...base };
  if (given.initialInterval !== undefined) {
    plan.initialIntervalMs = read.duration('initialInterval', given.initialInterval, base.initialIntervalMs);
    plan.maximumIntervalMs = Math.max(plan.maximumIntervalMs, plan.initialIntervalMs);
  }
  if (given.maximumInterval !== undefined) {
    plan.maximumIntervalMs = read.duration('maximumInterval', given.maximumInterval, plan.maximumIntervalMs);
    if (plan.maximumIntervalMs < plan.initialIntervalMs) {
      const expected = `at least the initial interval, ${plan.initialIntervalMs} ms`;
      read.bad('BAD_DURATION', 'maximumInterval', given.maximumInterval, expected, 'Make it longer, or leave it out.');
    }
  }
  if (given.coefficient !== undefined) {
    plan.coefficient = read.number('coefficient', given.coefficient, { least: 1, most: 1_000 }, base.coefficient);
  }
  if (given.maximumAttempts !== undefined) {
    const range = { least: 1, whole: true };
    plan.maximumAttempts =
      given.maximumAttempts === null ? null : read.number('maximumAttempts', given.maximumAttempts, range, 1);
  }
  if (given.totalDuration !== undefined) {
    plan.totalMs = given.totalDuration === null ? null : read.duration('totalDuration', given.totalDuration, 0);
  }
  if (given.jitter !== undefined) plan.jitter = read.number('jitter', given.jitter, { least: 0, most: 1 }, 0);
  if (given.nonRetryable !== undefined) plan.nonRetryable = lowerErrorNames(given.nonRetryable, read);
  return plan;
}

function lowerErrorNames(errors: unknown, read: OptionReader): readonly string[] {
  const fix = "Give the class, or the error's name as text.";
  if (!Array.isArray(errors)) {
    read.bad('BAD_VALUE', 'nonRetryable', errors, 'a list of error classes or names', fix);
    return [];
  }
  return errors.flatMap((error: unknown, index) => {
    if (typeof error === 'string' && error !== '') return [error];
    if (typeof error === 'function' && error.name !== '') return [error.name];
    read.report({
      code: 'BAD_VALUE',
      where: `${read.where} nonRetryable[${index}]`,
      found: show(error),
      expected: "an error class or an error's name",
      fix,
    });
    return [];
  });
}
