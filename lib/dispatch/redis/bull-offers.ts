import type { Queue } from 'bullmq';
import type { AnyHint, Logger, QueuePolicies, QueuePolicy } from '../../ports';
import type { Outbox } from './outbox';
import type { RedisConnections } from './redis-connections';
import type { RedisKeys } from './redis-keys';

/** Hints are looked after this often. */
const sweepMs = 5_000;
/** And once soon after they were offered: BullMQ takes none whose job is there still, although that is about to end. */
const firstLookMs = 500;
const perSweep = 1_000;

interface Standing {
  readonly hint: AnyHint & { readonly priority?: number };
  readonly taskQueue: string;
  lookAt: number;
}

/**
 * Hints of task queues with a policy, as jobs of BullMQ: it counts rates and concurrency over all workers, and shows the
 * jobs in its dashboards. A job says no more than a hint does; attempts, retries and delays are the engine's.
 */
export class BullOffers {
  private readonly queues = new Map<string, Promise<Queue>>();
  private readonly standing = new Map<string, Standing>();
  private gathered: Standing[] = [];
  private planned = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly policies: QueuePolicies,
    private readonly connections: RedisConnections,
    private readonly keys: RedisKeys,
    private readonly outbox: Outbox,
    private readonly logger: Logger,
  ) {}

  /** Tells the workers of the policies. */
  async open(): Promise<void> {
    if (this.policies.size === 0) return;
    await this.announce();
    this.timer = setInterval(() => this.sweep(), firstLookMs);
    this.timer.unref();
  }

  has(taskQueue: string): boolean {
    return this.policies.has(taskQueue);
  }

  offer(hint: AnyHint, taskQueue: string): void {
    if (this.standing.has(hint.id)) return;
    const standing: Standing = { hint, taskQueue, lookAt: 0 };
    this.standing.set(hint.id, standing);
    this.put(standing);
  }

  withdraw(id: string): void {
    const standing = this.standing.get(id);
    if (!standing) return;
    this.standing.delete(id);
    this.queue(standing.taskQueue)
      // One that a worker has in hand stays: it is told that nobody needs it.
      .then((queue) => queue.remove(jobIdOf(id)))
      .catch(() => {});
  }

  forget(id: string): void {
    this.standing.delete(id);
  }

  /** Redis lost data: policies and hints are told again. */
  reissue(): void {
    if (this.policies.size === 0) return;
    this.announce().catch((error) => this.logger.warn('policies of task queues could not be told', { error }));
    for (const standing of this.standing.values()) this.put(standing);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await Promise.allSettled([...this.queues.values()].map(async (queue) => (await queue).close()));
  }

  private async announce(): Promise<void> {
    for (const [name, policy] of this.policies) {
      await this.outbox.command('HSET', this.keys.policies, name, JSON.stringify(policy));
      const queue = await this.queue(name);
      await applyPolicy(queue, policy);
    }
  }

  private put(standing: Standing): void {
    standing.lookAt = performance.now() + firstLookMs;
    this.gathered.push(standing);
    if (this.planned) return;
    this.planned = true;
    queueMicrotask(() => {
      this.planned = false;
      const gathered = this.gathered.splice(0);
      for (const name of new Set(gathered.map(({ taskQueue }) => taskQueue))) {
        this.add(
          name,
          gathered.filter(({ taskQueue }) => taskQueue === name),
        );
      }
    });
  }

  private async add(taskQueue: string, standings: readonly Standing[]): Promise<void> {
    try {
      const queue = await this.queue(taskQueue);
      await queue.addBulk(
        standings.map(({ hint }) => ({
          name: hint.flow,
          data: hint,
          opts: {
            jobId: jobIdOf(hint.id),
            attempts: 1,
            removeOnComplete: true,
            removeOnFail: true,
            ...(hint.priority !== undefined && { priority: hint.priority }),
          },
        })),
      );
    } catch (error) {
      this.logger.debug('hints could not be offered and will be again', { taskQueue, error });
      for (const standing of standings) standing.lookAt = 0;
    }
  }

  private queue(name: string): Promise<Queue> {
    let queue = this.queues.get(name);
    if (!queue) {
      queue = this.make(name);
      this.queues.set(name, queue);
    }
    return queue;
  }

  private async make(name: string): Promise<Queue> {
    const { Queue } = await import('bullmq');
    const connection = await this.connections.patient();
    const queue = new Queue(encodeURIComponent(name), { connection, prefix: this.keys.bullPrefix });
    queue.on('error', (error) => this.logger.debug('a queue of BullMQ has trouble', { name, error }));
    return queue;
  }

  /** Offers again what Redis no longer holds. */
  private async sweep(): Promise<void> {
    const now = performance.now();
    const due = [...this.standing.values()].filter(({ lookAt }) => lookAt <= now).slice(0, perSweep);
    try {
      await Promise.all(
        due.map(async (standing) => {
          standing.lookAt = now + sweepMs;
          const { hint, taskQueue } = standing;
          const key = `${this.keys.bullPrefix}:${encodeURIComponent(taskQueue)}:${jobIdOf(hint.id)}`;
          if ((await this.outbox.command<number>('EXISTS', key)) === 1) return;
          if (this.standing.get(hint.id) === standing) this.put(standing);
        }),
      );
    } catch (error) {
      this.logger.debug('hints could not be looked after', { error });
    }
  }
}

async function applyPolicy(queue: Queue, { concurrency, rateLimit }: QueuePolicy): Promise<void> {
  if (concurrency === null) await queue.removeGlobalConcurrency();
  else await queue.setGlobalConcurrency(concurrency);
  if (rateLimit === null) await queue.removeGlobalRateLimit();
  else await queue.setGlobalRateLimit(rateLimit.max, rateLimit.perMs);
}

/** BullMQ takes no colon in an id. */
function jobIdOf(hintId: string): string {
  return encodeURIComponent(hintId);
}
