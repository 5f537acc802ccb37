import { methodPlan, type ReadyEffect, type Task } from '../core';
import type { FlowPlan } from '../plan';
import { decode } from '../values';
import type { Cell } from './cell';
import { KeyedSlots } from './keyed-slots';
import { limitsBy } from './queue-limits';
import { issueId, type ReadyCall } from './ready-pool';
import type { ShardOwnerParts } from './shard-owner';

/** The part that one shard has in the limits of task queues: what it has begun goes with it. */
export class Limited {
  /** Tokens that count here. */
  private readonly tokens = new Set<string>();
  private readonly stopListening: () => void;
  /** Where the dispatch counts over many engines. */
  private readonly slots: KeyedSlots | undefined;

  constructor(
    private readonly owner: ShardOwnerParts,
    onFree: () => void,
    /** A call may be offered that had to wait. */
    offer: (call: ReadyCall) => void,
  ) {
    const { limitedByDispatch } = owner.settings;
    this.stopListening = limitedByDispatch ? () => {} : owner.limits.onFree(onFree);
    const { slots } = owner.dispatch;
    if (limitedByDispatch && slots) this.slots = new KeyedSlots(slots, owner.clock, offer);
  }

  /**
   * Whether a call may be offered to whoever comes: not where this engine counts, and not before it has the slot that its
   * key asks for.
   */
  mayOffer(call: ReadyCall): boolean {
    if (!this.owner.settings.limitedByDispatch) return this.owner.limits.policyOf(call.taskQueue) === undefined;
    const limit = this.keyLimitOf(call);
    if (!this.slots || limit === undefined) return true;
    return this.slots.admits(call, { taskQueue: call.taskQueue, key: call.limitKey! }, limit);
  }

  /** Whether a worker may take a call that it has found: an earlier owner may have offered it. */
  mayTake(call: ReadyCall): boolean {
    return !this.slots || this.keyLimitOf(call) === undefined || this.slots.has(call);
  }

  /** The call is not offered any more, or not now. */
  leave(call: ReadyCall): void {
    if (call.limitKey !== undefined) this.slots?.leave(call);
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
    const { limits } = this.owner;
    if (!limits.policyOf(call.taskQueue)) return;
    if (call.limitKey !== undefined) this.slots?.begin(token, call);
    this.tokens.add(token);
    limits.begin(token, call);
  }

  /** An attempt runs that began under an earlier owner. */
  holdAgain(cell: Cell, task: Task, plan: FlowPlan): void {
    const { limits } = this.owner;
    const execution = cell.flow.run!.executions.get(task.execution)!;
    const taskQueue = methodPlan(plan, execution, task.method).taskQueue ?? plan.taskQueue;
    const policy = limits.policyOf(taskQueue);
    if (!policy) return;
    const by = limitsBy(policy, task.input === null ? undefined : decode(task.input));
    if (by.limitKey !== undefined) {
      const holder = issueId({ ...task, issue: execution.call!.issue });
      this.slots?.holdAgain(task.token, holder, { taskQueue, key: by.limitKey });
    }
    this.tokens.add(task.token);
    limits.hold(task.token, { taskQueue, ...by });
  }

  over(token: string): void {
    this.slots?.over(token);
    if (this.tokens.delete(token)) this.owner.limits.release(token);
  }

  close(): void {
    this.stopListening();
    this.slots?.close();
    for (const token of this.tokens) this.owner.limits.release(token);
    this.tokens.clear();
  }

  private keyLimitOf({ taskQueue, limitKey }: ReadyCall): number | undefined {
    return limitKey === undefined ? undefined : this.owner.limits.policyOf(taskQueue)?.concurrencyByKey?.limit;
  }
}
