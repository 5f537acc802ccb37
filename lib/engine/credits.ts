import type { SlotOffer } from '../dispatch';
import type { FlowPlan } from '../plan';
import type { ReadyCall, ReadyPool } from './ready-pool';
import { runs, type Taker } from './worker-registry';

interface Credit {
  readonly process: string;
  readonly plan: FlowPlan;
  readonly taskQueues: readonly string[] | null;
  free: number;
}

/**
 * Free slots that workers named in the messages of this turn. What a turn makes ready is given to them in the same batch
 * (the short cut); after the turn they are the workers' own again.
 */
export class Credits {
  private credits: Credit[] = [];

  add(process: string, plan: FlowPlan, { free, taskQueues }: SlotOffer): void {
    if (free > 0) this.credits.push({ process, plan, taskQueues, free });
  }

  /** Takes a call out of the pool for a worker that has said it has room for it. */
  takerFor(pool: ReadyPool, mayBegin: (call: ReadyCall) => boolean): Taker | undefined {
    for (const credit of this.credits) {
      const { plan, taskQueues, process } = credit;
      if (credit.free === 0) continue;
      const call = pool.takeFor(
        (candidate) =>
          runs(plan, candidate.flow, candidate.step) &&
          (taskQueues === null || taskQueues.includes(candidate.taskQueue)) &&
          mayBegin(candidate),
      );
      if (!call) continue;
      credit.free--;
      return { call, process, plan };
    }
    return undefined;
  }

  clear(): void {
    if (this.credits.length > 0) this.credits = [];
  }
}
