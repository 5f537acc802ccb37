import { type Command, type RunState, storedPlan } from '../core';
import { HoldfastError } from '../errors';
import { type FlowPlan, isPlanOf, stepNamed } from '../plan';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord, encodeRecord } from '../values';
import type { WritePipeline } from './write-pipeline';

/** The plans of a shard by fingerprint: stored when a process brings them, so that an engine needs no user code (V2). */
export class Plans {
  private readonly plans = new Map<string, FlowPlan>();

  constructor(private readonly store: ShardStore) {}

  add(plans: readonly FlowPlan[], pipeline: WritePipeline): void {
    for (const plan of plans) {
      if (this.plans.has(plan.fingerprint)) continue;
      this.plans.set(plan.fingerprint, plan);
      pipeline.put(keys.plan(plan.fingerprint), encodeRecord(plan));
    }
  }

  all(): FlowPlan[] {
    return [...this.plans.values()];
  }

  has(fingerprint: string): boolean {
    return this.plans.has(fingerprint);
  }

  get(fingerprint: string): FlowPlan {
    const plan = this.plans.get(fingerprint);
    if (plan) return plan;
    throw new HoldfastError('CORRUPT_RECORD', `The plan ${fingerprint} is not known to this shard.`, {
      where: fingerprint,
    });
  }

  /** The plan that decided last on a run, in the run's words. */
  of({ head }: RunState): FlowPlan {
    return storedPlan(this.get(head.plan), head.names);
  }

  /** The plan that a command names, or for one without, the plan that decided last. */
  for(command: Command, run: RunState | undefined): FlowPlan {
    if ('plan' in command && command.plan !== undefined) return this.get(command.plan);
    return run ? this.get(run.head.plan) : noPlan;
  }

  /** A plan of a Flow that has a Step. */
  having(flow: string, step: string): FlowPlan | undefined {
    return [...this.plans.values()].find((plan) => isPlanOf(plan, flow) && stepNamed(plan, step));
  }

  async loadAll(): Promise<void> {
    for await (const [, bytes] of this.store.scan(keys.plans)) {
      const plan = decodeRecord(bytes) as FlowPlan;
      this.plans.set(plan.fingerprint, plan);
    }
  }
}

/** For a flowId that never had a run: what is asked of it is refused before a plan is looked at. */
const noPlan = Object.freeze({ name: '', steps: {}, attributes: {}, channels: {} }) as unknown as FlowPlan;
