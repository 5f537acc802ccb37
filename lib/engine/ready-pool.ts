import type { ReadyEffect } from '../core';

/** A call that a worker may take, in which run. */
export interface ReadyCall extends ReadyEffect {
  readonly flowId: string;
  readonly runId: string;
  readonly flow: string;
}

interface Queued {
  readonly order: number;
  readonly call: ReadyCall;
}

/** Calls that wait for a worker, oldest first, by task queue, Flow and Step. What is in here is a hint: a claim tells. */
export class ReadyPool {
  private readonly classes = new Map<string, Map<string, Queued>>();
  private order = 0;

  add(call: ReadyCall): void {
    const name = classOf(call.taskQueue, call.flow, call.step);
    let queue = this.classes.get(name);
    if (!queue) {
      queue = new Map();
      this.classes.set(name, queue);
    }
    const key = `${call.runId}/${call.execution}`;
    const order = queue.get(key)?.order ?? ++this.order;
    queue.set(key, { order, call });
  }

  /** Takes out the oldest call that `serves` says a worker runs. */
  takeFor(serves: (call: ReadyCall) => boolean): ReadyCall | undefined {
    let best: { queue: Map<string, Queued>; key: string; queued: Queued } | undefined;
    for (const [name, queue] of this.classes) {
      const [first] = queue;
      if (!first) {
        this.classes.delete(name);
        continue;
      }
      const [key, queued] = first;
      // All calls of a class are alike to a worker, so its oldest speaks for it.
      if ((!best || queued.order < best.queued.order) && serves(queued.call)) best = { queue, key, queued };
    }
    if (!best) return undefined;
    best.queue.delete(best.key);
    return best.queued.call;
  }

  clear(): void {
    this.classes.clear();
  }
}

function classOf(taskQueue: string, flow: string, step: string): string {
  return `${taskQueue}\u0000${flow}\u0000${step}`;
}
