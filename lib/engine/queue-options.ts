import { HoldfastError } from '../errors';
import type { QueuePolicies, QueuePolicy } from '../ports';
import { type Duration, durationMs } from '../values/duration';

/** Limits and order of a task queue (T1); what is left out is not limited. */
export interface TaskQueueOptions {
  /** At most `max` attempts begin within `per`, e.g. `{ max: 10, per: '1s' }`. */
  readonly rateLimit?: { readonly max: number; readonly per: Duration };
  /** At most this many attempts run at a time, over all workers. */
  readonly concurrency?: number;
  /** Path into the input of a Step to a number: 1 is taken first; calls without one come before all others. */
  readonly priority?: string;
  /** At most `limit` attempts run at a time that have the same value at the path `key` of their input. */
  readonly concurrencyByKey?: { readonly key: string; readonly limit: number };
}

/** Throws `INVALID_ARGUMENT` and `INVALID_DURATION`, naming the queue and option. */
export function lowerTaskQueues(options: Readonly<Record<string, TaskQueueOptions>> = {}): QueuePolicies {
  return new Map(Object.entries(options).map(([name, queue]) => [name, lowerTaskQueue(name, queue)]));
}

function lowerTaskQueue(name: string, options: TaskQueueOptions): QueuePolicy {
  const where = `taskQueues.${name}`;
  const { rateLimit, concurrency, priority, concurrencyByKey } = options;
  return {
    rateLimit: rateLimit
      ? {
          max: wholeNumber(rateLimit.max, `${where}.rateLimit.max`),
          perMs: Math.max(1, durationMs(rateLimit.per, `${where}.rateLimit.per`)),
        }
      : null,
    concurrency: concurrency === undefined ? null : wholeNumber(concurrency, `${where}.concurrency`),
    priority: priority ?? null,
    concurrencyByKey: concurrencyByKey
      ? { key: concurrencyByKey.key, limit: wholeNumber(concurrencyByKey.limit, `${where}.concurrencyByKey.limit`) }
      : null,
  };
}

function wholeNumber(value: number, where: string): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new HoldfastError('INVALID_ARGUMENT', `${where} is a whole number from 1 on, not ${value}.`, { where });
}
