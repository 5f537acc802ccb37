import type { Introduce } from '../dispatch';
import { type FlowPlan, isPlanOf, stepNamed } from '../plan';
import type { ReadyCall, ReadyPool } from './ready-pool';

/** A worker that was not heard of for this long is gone. */
export const forgottenMs = 30_000;

interface KnownWorker {
  readonly process: string;
  readonly slots: number;
  readonly taskQueues: ReadonlySet<string> | null;
  readonly plans: readonly FlowPlan[];
  /** Tokens in its hands: each holds a slot until the worker says that its handler has ended. */
  readonly held: Set<string>;
}

/** A ready call, and the worker that takes it with the plan it runs it by. */
export interface Taker {
  readonly call: ReadyCall;
  readonly process: string;
  readonly plan: FlowPlan;
}

/** The workers this engine may give tasks to, and the slots they have left. */
export class WorkerRegistry {
  private readonly workers = new Map<string, KnownWorker>();
  /** Those that look for work by themselves. */
  private readonly looking = new Map<string, { readonly plans: readonly FlowPlan[]; readonly heardAt: number }>();

  introduce({ process, plans, worker }: Introduce): void {
    if (!worker) return;
    this.workers.set(process, {
      process,
      slots: worker.slots,
      taskQueues: worker.taskQueues ? new Set(worker.taskQueues) : null,
      plans,
      held: this.workers.get(process)?.held ?? new Set(),
    });
  }

  /** A worker that looks for work by itself was heard of. */
  present(process: string, plans: readonly FlowPlan[], heardAt: number): void {
    this.looking.set(process, { plans, heardAt });
  }

  leave(process: string): void {
    this.workers.delete(process);
    this.looking.delete(process);
  }

  /** Whether no worker has the Step; undefined where none is known at all. */
  lack(flow: string, step: string, now: number): boolean | undefined {
    for (const [process, { heardAt }] of this.looking) if (heardAt < now - forgottenMs) this.looking.delete(process);
    const known = [...this.workers.values(), ...this.looking.values()];
    if (known.length === 0) return undefined;
    return known.every(({ plans }) => !plans.some((plan) => runs(plan, flow, step)));
  }

  hold(process: string, token: string): void {
    this.workers.get(process)?.held.add(token);
  }

  release(process: string, token: string): void {
    this.workers.get(process)?.held.delete(token);
  }

  /** Takes a call out of the pool for the least loaded worker that has a free slot and runs it. */
  takerFor(pool: ReadyPool, mayBegin: (call: ReadyCall) => boolean): Taker | undefined {
    const free = [...this.workers.values()].filter(({ held, slots }) => held.size < slots);
    free.sort((a, b) => a.held.size / a.slots - b.held.size / b.slots);
    for (const worker of free) {
      const call = pool.takeFor((candidate) => planFor(worker, candidate) !== undefined && mayBegin(candidate));
      if (call) return { call, process: worker.process, plan: planFor(worker, call)! };
    }
    return undefined;
  }
}

function planFor(worker: KnownWorker, call: ReadyCall): FlowPlan | undefined {
  if (worker.taskQueues && !worker.taskQueues.has(call.taskQueue)) return undefined;
  return worker.plans.find((plan) => runs(plan, call.flow, call.step));
}

/** Whether workers with this plan can run a Step of a Flow, both as a run names them (V3). */
export function runs(plan: FlowPlan, flow: string, step: string): boolean {
  return isPlanOf(plan, flow) && stepNamed(plan, step) !== undefined;
}
