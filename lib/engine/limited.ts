import { methodPlan, type ReadyEffect, type Task } from '../core';
import type { FlowPlan } from '../plan';
import { decode } from '../values';
import type { Cell } from './cell';
import { limitsBy } from './queue-limits';
import type { ReadyCall } from './ready-pool';
import type { ShardOwnerParts } from './shard-owner';

/** The part that one shard has in the limits of task queues: what it has begun goes with it. */
export class Limited {
  /** Tokens that count here. */
  private readonly tokens = new Set<string>();
  private readonly stopListening: () => void;

  constructor(
    private readonly owner: ShardOwnerParts,
    onFree: () => void,
  ) {
    this.stopListening = owner.limits.onFree(onFree);
  }

  /** Whether calls of a task queue may be offered to whoever comes: not where this engine counts them. */
  mayOffer(taskQueue: string): boolean {
    return this.owner.settings.limitedByDispatch || this.owner.limits.policyOf(taskQueue) === undefined;
  }

  mayBegin(call: ReadyCall): boolean {
    const { limits, settings } = this.owner;
    return settings.limitedByDispatch ? !limits.policyOf(call.taskQueue) : limits.mayBegin(call);
  }

  /** What the policy of its task queue reads from the input of a call. */
  of(cell: Cell, { execution, taskQueue }: ReadyEffect): Pick<ReadyCall, 'limitKey' | 'priority'> {
    const policy = this.owner.limits.policyOf(taskQueue);
    if (!policy?.priority && !policy?.concurrencyByKey) return {};
    const run = cell.flow.run!;
    const { input } = run.executions.get(execution)!;
    return limitsBy(policy, input === null ? undefined : decode(run.payloadOf(input)));
  }

  begin(token: string, call: ReadyCall): void {
    const { limits, settings } = this.owner;
    if (settings.limitedByDispatch || !limits.policyOf(call.taskQueue)) return;
    this.tokens.add(token);
    limits.begin(token, call);
  }

  /** An attempt runs that began under an earlier owner. */
  holdAgain(cell: Cell, task: Task, plan: FlowPlan): void {
    const { limits, settings } = this.owner;
    const execution = cell.flow.run!.executions.get(task.execution)!;
    const taskQueue = methodPlan(plan, execution, task.method).taskQueue ?? plan.taskQueue;
    const policy = limits.policyOf(taskQueue);
    if (settings.limitedByDispatch || !policy) return;
    this.tokens.add(task.token);
    const input = task.input === null ? undefined : decode(task.input);
    limits.hold(task.token, { taskQueue, ...limitsBy(policy, input) });
  }

  over(token: string): void {
    if (this.tokens.delete(token)) this.owner.limits.release(token);
  }

  close(): void {
    this.stopListening();
    for (const token of this.tokens) this.owner.limits.release(token);
    this.tokens.clear();
  }
}
