import type { ReadyEffect } from '../core';

/** A call that a worker may take, in which run. */
export interface ReadyCall extends ReadyEffect {
  readonly flowId: string;
  readonly runId: string;
  readonly flow: string;
  /** On a task queue with a policy: what its concurrency by key counts under, and its priority. */
  readonly limitKey?: string;
  readonly priority?: number;
}

interface QueueCount {
  waiting: number;
  blocked: number;
  oldestAt: number;
}

interface Queued {
  readonly order: number;
  readonly since: number;
  readonly call: ReadyCall;
}

/** Calls that wait for a worker, oldest first, by task queue, Flow and Step. What is in here is a hint: a claim tells. */
export class ReadyPool {
  private readonly classes = new Map<string, Map<string, Queued>>();
  /** How many calls of each flowId are in here. */
  private readonly byFlow = new Map<string, number>();
  private order = 0;

  /** Gives the call that this one replaces, if there was one of the same execution. */
  add(call: ReadyCall, now: number): ReadyCall | undefined {
    const name = classOf(call);
    let queue = this.classes.get(name);
    if (!queue) {
      queue = new Map();
      this.classes.set(name, queue);
    }
    const key = keyOf(call);
    const before = queue.get(key);
    queue.set(key, { order: before?.order ?? ++this.order, since: before?.since ?? now, call });
    if (!before) this.byFlow.set(call.flowId, (this.byFlow.get(call.flowId) ?? 0) + 1);
    return before?.call;
  }

  /** Whether this very issue of the call still waits. */
  has(call: ReadyCall): boolean {
    return this.classes.get(classOf(call))?.get(keyOf(call))?.call.issue === call.issue;
  }

  /** Calls per task queue, those of them that nobody can run, and when the oldest of each came. */
  byQueue(isLacked: (call: ReadyCall) => boolean): Map<string, QueueCount> {
    const queues = new Map<string, QueueCount>();
    for (const calls of this.classes.values()) {
      const [first] = calls.values();
      if (!first) continue;
      const queue = queues.get(first.call.taskQueue) ?? { waiting: 0, blocked: 0, oldestAt: Number.POSITIVE_INFINITY };
      queue.waiting += calls.size;
      if (isLacked(first.call)) queue.blocked += calls.size;
      queue.oldestAt = Math.min(queue.oldestAt, first.since);
      queues.set(first.call.taskQueue, queue);
    }
    return queues;
  }

  hasFlow(flowId: string): boolean {
    return this.byFlow.has(flowId);
  }

  /** Takes this issue of the call out. */
  remove(call: ReadyCall): void {
    if (this.has(call)) this.drop(classOf(call), keyOf(call), call.flowId);
  }

  /** Takes out the oldest call that `serves` says a worker runs. */
  takeFor(serves: (call: ReadyCall) => boolean): ReadyCall | undefined {
    let best: { name: string; key: string; queued: Queued } | undefined;
    for (const [name, queue] of this.classes) {
      const [first] = queue;
      if (!first) continue;
      const [key, queued] = first;
      // All calls of a class are alike to a worker, so its oldest speaks for it.
      if ((!best || comesBefore(queued, best.queued)) && serves(queued.call)) best = { name, key, queued };
    }
    if (!best) return undefined;
    const { call } = best.queued;
    this.drop(best.name, best.key, call.flowId);
    return call;
  }

  private drop(name: string, key: string, flowId: string): void {
    const queue = this.classes.get(name)!;
    queue.delete(key);
    if (queue.size === 0) this.classes.delete(name);
    const left = this.byFlow.get(flowId)! - 1;
    if (left === 0) this.byFlow.delete(flowId);
    else this.byFlow.set(flowId, left);
  }
}

/** Lower priorities of the same task queue first, then the older. */
function comesBefore(a: Queued, b: Queued): boolean {
  if (a.call.taskQueue === b.call.taskQueue) {
    const difference = (a.call.priority ?? 0) - (b.call.priority ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return a.order < b.order;
}

/** Names one issue of a call. */
export function issueId({ runId, execution, issue }: Pick<ReadyCall, 'runId' | 'execution' | 'issue'>): string {
  return `${runId}/${execution}/${issue}`;
}

function keyOf({ runId, execution }: ReadyCall): string {
  return `${runId}/${execution}`;
}

function classOf({ taskQueue, flow, step, limitKey = '', priority = 0 }: ReadyCall): string {
  return `${taskQueue}\u0000${flow}\u0000${step}\u0000${priority}\u0000${limitKey}`;
}
