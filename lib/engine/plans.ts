import { HoldfastError } from '../errors';
import type { FlowPlan } from '../plan';
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

  async loadAll(): Promise<void> {
    for await (const [, bytes] of this.store.scan(keys.plans)) {
      const plan = decodeRecord(bytes) as FlowPlan;
      this.plans.set(plan.fingerprint, plan);
    }
  }
}

/** For a flowId that never had a run: what is asked of it is refused before a plan is looked at. */
export const noPlan = Object.freeze({ name: '', steps: {}, attributes: {}, channels: {} }) as unknown as FlowPlan;
