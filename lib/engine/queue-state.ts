import type { QueuePolicy } from '../ports';
import type { QueueLimits } from './queue-limits';

export interface QueueLength {
  readonly taskQueue: string;
  readonly waiting: number;
  /** Those of them whose Step no worker has (V3). */
  readonly blocked: number;
  /** When the oldest of them became ready, milliseconds since the epoch; null where none waits. */
  readonly oldestAt: number | null;
}

/** What waits on a task queue and runs (T3). */
export interface QueueState extends QueueLength {
  /** Attempts that count against its limits, of the shards that are open here; 0 for a queue without limits. */
  readonly running: number;
  readonly policy: QueuePolicy | null;
}

/** Adds the shards up. Queues with a policy are always there, others while something waits on them. */
export function queueStates(lengths: readonly QueueLength[], limits: QueueLimits): QueueState[] {
  const sums = new Map<string, QueueLength>(limits.taskQueues.map((name) => [name, nothing(name)]));
  for (const { taskQueue, waiting, blocked, oldestAt } of lengths) {
    const sum = sums.get(taskQueue) ?? nothing(taskQueue);
    sums.set(taskQueue, {
      taskQueue,
      waiting: waiting + sum.waiting,
      blocked: blocked + sum.blocked,
      oldestAt: earlier(oldestAt, sum.oldestAt),
    });
  }
  return [...sums.values()].map((sum) => ({
    ...sum,
    running: limits.runningOf(sum.taskQueue),
    policy: limits.policyOf(sum.taskQueue) ?? null,
  }));
}

function nothing(taskQueue: string): QueueLength {
  return { taskQueue, waiting: 0, blocked: 0, oldestAt: null };
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || (b !== null && b < a) ? b : a;
}
