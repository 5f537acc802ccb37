import { randomUUID } from 'node:crypto';
import type { Job, Worker } from 'bullmq';
import type { AnyHint, HintReader, Logger } from '../../ports';
import { withinTime } from '../../values';
import type { RedisConnections } from './redis-connections';
import type { RedisKeys } from './redis-keys';

/** A dead worker's jobs, and with them its part of the concurrency, are free after about this time. */
const lockMs = 10_000;
const stalledMs = 3_000;
/** How long the end waits for what is given back. */
const givingBackMs = 1_000;
/** What a worker gives back is looked at again after this time. */
const givenBackMs = 200;

/** Reads the hints of one task queue with a policy: a job is active while its handler runs. */
export class BullHintReader implements HintReader<AnyHint> {
  private readonly open = new Map<AnyHint, (end: 'done' | 'back') => void>();
  private worker: Promise<Worker> | undefined;
  private readonly processing = new Set<Promise<void>>();
  private wanted = 0;
  private closed = false;

  constructor(
    private readonly taskQueue: string,
    private readonly parts: {
      readonly flows: readonly string[];
      readonly connections: RedisConnections;
      readonly keys: RedisKeys;
      readonly logger: Logger;
      onHint(hint: AnyHint): void;
    },
  ) {}

  want(count: number): void {
    this.wanted = count;
    if (this.closed) return;
    if (count > 0) this.worker ??= this.make();
    this.worker?.then((worker) => {
      if (this.closed) return;
      if (this.wanted <= 0) worker.pause(true).catch(() => {});
      else {
        worker.concurrency = this.open.size + this.wanted;
        if (worker.isPaused()) worker.resume();
      }
    });
  }

  /** Its handler may only have begun: see `ended`. */
  done(): void {}

  ended(hint: AnyHint): void {
    this.settle(hint, 'done');
  }

  giveBack(hint: AnyHint): void {
    this.settle(hint, 'back');
  }

  close(): void {
    this.closed = true;
    this.worker?.then((worker) => worker.pause(true)).catch(() => {});
  }

  /** Gives back what is still here, and waits for nothing that may never come: a handler, or Redis. */
  async end(): Promise<void> {
    const worker = await this.worker;
    for (const hint of [...this.open.keys()]) this.settle(hint, 'back');
    await withinTime(Promise.allSettled(this.processing), givingBackMs, () => new Error('not in time')).catch(() => {});
    // The first call to close decides what BullMQ waits for.
    await worker?.close(true);
  }

  private settle(hint: AnyHint, how: 'done' | 'back'): void {
    const end = this.open.get(hint);
    this.open.delete(hint);
    end?.(how);
  }

  private async make(): Promise<Worker> {
    const { DelayedError, Worker } = await import('bullmq');
    const connection = await this.parts.connections.patient();
    const run = async (job: Job, token?: string) => {
      const hint = job.data as AnyHint;
      const how = await new Promise<'done' | 'back'>((resolve) => {
        this.open.set(hint, resolve);
        if (this.closed || !this.parts.flows.includes(hint.flow)) this.settle(hint, 'back');
        else this.parts.onHint(hint);
      });
      if (how === 'done') return;
      await job.moveToDelayed(Date.now() + givenBackMs, token);
      throw new DelayedError();
    };
    const process = (job: Job, token?: string) => {
      const running = run(job, token);
      this.processing.add(running);
      return running.finally(() => this.processing.delete(running));
    };
    const worker = new Worker(encodeURIComponent(this.taskQueue), process, {
      connection,
      prefix: this.parts.keys.bullPrefix,
      name: randomUUID(),
      concurrency: Math.max(1, this.wanted),
      lockDuration: lockMs,
      stalledInterval: stalledMs,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', (error) => this.parts.logger.debug('a worker of BullMQ has trouble', { error }));
    return worker;
  }
}
