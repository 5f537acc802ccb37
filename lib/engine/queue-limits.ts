import { valueAt } from '../core';
import type { Cancel, Clock, QueuePolicies, QueuePolicy } from '../ports';
import type { ReadyCall } from './ready-pool';

interface Queue {
  readonly policy: QueuePolicy;
  readonly running: Set<string>;
  readonly runningByKey: Map<string, number>;
  /** Attempts that began in the running window, and when it ends. */
  begun: number;
  windowEnd: number;
}

interface Hold {
  readonly queue: Queue;
  readonly key: string | undefined;
}

/** Counts what runs on task queues with a policy; rebuilt from the state of runs by whoever takes a shard over (T2). */
export class QueueLimits {
  private readonly queues = new Map<string, Queue>();
  private readonly holds = new Map<string, Hold>();
  private readonly listeners = new Set<() => void>();
  private cancelWindow: Cancel | undefined;

  constructor(
    policies: QueuePolicies,
    private readonly clock: Clock,
  ) {
    for (const [name, policy] of policies) {
      this.queues.set(name, { policy, running: new Set(), runningByKey: new Map(), begun: 0, windowEnd: 0 });
    }
  }

  /** Calls back when something may be taken that could not before. Gives how to stop that. */
  onFree(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Task queues with a policy. */
  get taskQueues(): string[] {
    return [...this.queues.keys()];
  }

  /** The policy of a task queue, if it has one. */
  policyOf(taskQueue: string): QueuePolicy | undefined {
    return this.queues.get(taskQueue)?.policy;
  }

  runningOf(taskQueue: string): number {
    return this.queues.get(taskQueue)?.running.size ?? 0;
  }

  mayBegin({ taskQueue, limitKey }: Pick<ReadyCall, 'taskQueue' | 'limitKey'>): boolean {
    const queue = this.queues.get(taskQueue);
    if (!queue) return true;
    const { rateLimit, concurrency, concurrencyByKey } = queue.policy;
    if (concurrency !== null && queue.running.size >= concurrency) return false;
    if (concurrencyByKey && limitKey !== undefined) {
      if ((queue.runningByKey.get(limitKey) ?? 0) >= concurrencyByKey.limit) return false;
    }
    if (!rateLimit || this.clock.monotonic() >= queue.windowEnd || queue.begun < rateLimit.max) return true;
    this.tellAt(queue.windowEnd);
    return false;
  }

  /** An attempt begins. */
  begin(token: string, call: Pick<ReadyCall, 'taskQueue' | 'limitKey'>): void {
    const queue = this.queues.get(call.taskQueue);
    if (!queue) return;
    const { rateLimit } = queue.policy;
    const now = this.clock.monotonic();
    if (rateLimit && now >= queue.windowEnd) {
      queue.windowEnd = now + rateLimit.perMs;
      queue.begun = 0;
    }
    queue.begun++;
    this.hold(token, call);
  }

  /** An attempt runs, perhaps since before this owner. */
  hold(token: string, { taskQueue, limitKey: key }: Pick<ReadyCall, 'taskQueue' | 'limitKey'>): void {
    const queue = this.queues.get(taskQueue);
    if (!queue || this.holds.has(token)) return;
    queue.running.add(token);
    if (key !== undefined) queue.runningByKey.set(key, (queue.runningByKey.get(key) ?? 0) + 1);
    this.holds.set(token, { queue, key });
  }

  /** An attempt is over, in whatever way. */
  release(token: string): void {
    const hold = this.holds.get(token);
    if (!hold) return;
    this.holds.delete(token);
    const { queue, key } = hold;
    queue.running.delete(token);
    if (key !== undefined) {
      const left = queue.runningByKey.get(key)! - 1;
      if (left === 0) queue.runningByKey.delete(key);
      else queue.runningByKey.set(key, left);
    }
    this.tell();
  }

  /** No window is waited for any more. */
  close(): void {
    this.cancelWindow?.();
  }

  private tellAt(at: number): void {
    this.cancelWindow ??= this.clock.after(Math.max(1, at - this.clock.monotonic()), () => {
      this.cancelWindow = undefined;
      this.tell();
    });
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

/** What a policy reads from the input of a call. */
export function limitsBy(policy: QueuePolicy, input: unknown): Pick<ReadyCall, 'limitKey' | 'priority'> {
  const { priority, concurrencyByKey } = policy;
  const number = priority === null ? undefined : valueAt(input, priority);
  const key = concurrencyByKey ? valueAt(input, concurrencyByKey.key) : undefined;
  return {
    ...(typeof number === 'number' && number > 0 && { priority: Math.min(Math.floor(number), 2 ** 21) }),
    ...(key !== undefined && key !== null && { limitKey: String(key) }),
  };
}
