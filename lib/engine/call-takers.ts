import type { Introduce } from '../dispatch';
import { type FlowPlan, isPlanOf, rpcNamed } from '../plan';

interface KnownWorker {
  readonly process: string;
  readonly slots: number;
  readonly plans: readonly FlowPlan[];
  readonly held: Set<string>;
}

/** The workers of an engine that run RPCs and Queries: calls are sent to them directly, each has slots of its own (X13). */
export class CallTakers {
  private readonly workers = new Map<string, KnownWorker>();

  introduce({ process, plans, worker }: Introduce): void {
    if (!worker) return;
    const held = this.workers.get(process)?.held ?? new Set<string>();
    this.workers.set(process, { process, slots: worker.callSlots, plans, held });
  }

  leave(process: string): void {
    this.workers.delete(process);
  }

  hold(process: string, token: string): void {
    this.workers.get(process)?.held.add(token);
  }

  release(process: string, token: string): void {
    this.workers.get(process)?.held.delete(token);
  }

  /** The least loaded worker with a free slot that has the call in its plan of the Flow. */
  takerFor(flow: string, rpc: string): { readonly process: string; readonly plan: FlowPlan } | undefined {
    let best: { worker: KnownWorker; plan: FlowPlan } | undefined;
    for (const worker of this.workers.values()) {
      const plan = worker.plans.find((each) => isPlanOf(each, flow) && rpcNamed(each, rpc));
      if (!plan || worker.held.size >= worker.slots) continue;
      if (!best || worker.held.size / worker.slots < best.worker.held.size / best.worker.slots) best = { worker, plan };
    }
    return best && { process: best.worker.process, plan: best.plan };
  }
}
