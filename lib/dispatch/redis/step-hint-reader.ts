import type { AnyHint, HintReader } from '../../ports';
import { BullHintReader } from './bull-hint-reader';
import { type HintReaderParts, RedisHintReader } from './redis-hint-reader';

/** Task queues that get a policy are found within this time. */
const discoverMs = 1_000;

/** Reads hints of Steps from streams, and those of task queues with a policy from BullMQ. */
export class StepHintReader implements HintReader<AnyHint> {
  private readonly streams: RedisHintReader;
  private readonly queues = new Map<string, BullHintReader>();
  /** Hints that came by BullMQ. */
  private readonly origins = new Map<AnyHint, BullHintReader>();
  private wanted = 0;
  private timer: NodeJS.Timeout;

  constructor(private readonly parts: HintReaderParts) {
    this.streams = new RedisHintReader(parts);
    this.timer = setInterval(() => this.discover(), discoverMs);
    this.timer.unref();
    this.discover();
  }

  want(count: number): void {
    this.wanted = count;
    this.streams.want(count);
    for (const queue of this.queues.values()) queue.want(count);
  }

  done(hint: AnyHint): void {
    if (!this.origins.has(hint)) this.streams.done(hint);
  }

  ended(hint: AnyHint): void {
    this.origins.get(hint)?.ended(hint);
    this.origins.delete(hint);
  }

  giveBack(hint: AnyHint): void {
    const queue = this.origins.get(hint);
    this.origins.delete(hint);
    (queue ?? this.streams).giveBack(hint);
  }

  close(): void {
    clearInterval(this.timer);
    this.streams.close();
    for (const queue of this.queues.values()) queue.close();
  }

  async end(): Promise<void> {
    await Promise.all([...this.queues.values()].map((queue) => queue.end()));
  }

  private async discover(): Promise<void> {
    const { outbox, keys, wanted, connections, logger } = this.parts;
    const { taskQueues, flows } = wanted;
    const names = await outbox.command<string[]>('HKEYS', keys.policies).catch(() => []);
    for (const name of names) {
      if (this.queues.has(name) || (taskQueues !== null && !taskQueues.includes(name))) continue;
      const queue = new BullHintReader(name, {
        ...{ flows, connections, keys, logger },
        onHint: (hint) => {
          this.origins.set(hint, queue);
          this.parts.onHint(hint);
        },
      });
      this.queues.set(name, queue);
      queue.want(this.wanted);
    }
  }
}
