import { deadEnd, Flow, goToMany, gracefulComplete, Step, type StepContext, to } from '../../index';

// Flows on task queues with policies. What runs when is noted from outside.

export interface Job {
  readonly n: number;
  readonly ms: number;
  readonly tenant?: string;
  readonly urgency?: number;
}

export class Jobs {
  running = 0;
  most = 0;
  readonly byTenant = new Map<string, number>();
  mostOfTenant = 0;
  readonly begun: { n: number; at: number }[] = [];

  begin({ n, tenant }: Job): void {
    this.begun.push({ n, at: performance.now() });
    this.most = Math.max(this.most, ++this.running);
    if (tenant === undefined) return;
    const running = (this.byTenant.get(tenant) ?? 0) + 1;
    this.byTenant.set(tenant, running);
    this.mostOfTenant = Math.max(this.mostOfTenant, running);
  }

  end({ tenant }: Job): void {
    this.running--;
    if (tenant !== undefined) this.byTenant.set(tenant, this.byTenant.get(tenant)! - 1);
  }
}

export const jobs = new Map<string, Jobs>();

function jobsOf(flowId: string): Jobs {
  let found = jobs.get(flowId);
  if (!found) {
    found = new Jobs();
    jobs.set(flowId, found);
  }
  return found;
}

@Step({ taskQueue: 'limited', retry: { maximumAttempts: 2, initialInterval: 1 } })
export class JobStep {
  async execute(job: Job, ctx: StepContext) {
    const mine = jobsOf(ctx.flowId);
    mine.begin(job);
    try {
      await new Promise((resolve) => setTimeout(resolve, job.ms));
      ctx.signal.throwIfAborted();
    } finally {
      mine.end(job);
    }
    return deadEnd();
  }
}

@Step()
export class PlanStep {
  execute(all: readonly Job[]) {
    const [first, ...rest] = all.map((job) => to(JobStep, job));
    return goToMany(first!, ...rest, to(AskStep));
  }
}

@Step()
export class AskStep {
  execute() {
    return gracefulComplete('done');
  }
}

/** Runs jobs in parallel, as far as their task queue lets it. */
@Flow()
export class JobsFlow {
  static readonly start = PlanStep;
  static readonly steps = [JobStep, AskStep];
}
