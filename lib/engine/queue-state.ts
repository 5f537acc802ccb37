import type { QueuePolicy } from '../ports';
import type { QueueLimits } from './queue-limits';

export interface QueueLength {
  readonly taskQueue: string;
  readonly waiting: number;
  /** Those of them whose Step no worker has (V3). */
  readonly blocked: number;
  /** When the oldest of them became ready, milliseconds since the epoch. */
  readonly oldestAt: number;
}

/** What waits on a task queue and runs (T3). */
export interface QueueState extends QueueLength {
  /** Attempts that count against its limits; 0 for a queue without. */
  readonly running: number;
  readonly policy: QueuePolicy | null;
}

/** Adds the shards up. */
export function queueStates(lengths: readonly QueueLength[], limits: QueueLimits): QueueState[] {
  const states = new Map<string, QueueState>();
  for (const { taskQueue, waiting, blocked, oldestAt } of lengths) {
    const known = states.get(taskQueue);
    states.set(taskQueue, {
      taskQueue,
      waiting: waiting + (known?.waiting ?? 0),
      blocked: blocked + (known?.blocked ?? 0),
      oldestAt: Math.min(oldestAt, known?.oldestAt ?? Number.POSITIVE_INFINITY),
      running: limits.runningOf(taskQueue),
      policy: limits.policyOf(taskQueue) ?? null,
    });
  }
  return [...states.values()];
}
