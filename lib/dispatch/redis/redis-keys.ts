import { HoldfastError } from '../../errors';
import type { AnyHint, SlotKey } from '../../ports';

/** The consumer group of every stream of hints. */
export const hintGroup = 'workers';

/**
 * Every key in Redis. All keys of a namespace carry one hash tag, so that they stand on one node of a Redis Cluster and one
 * round trip reaches them all; systems are spread over a cluster by namespace.
 *
 * | key | what | lives |
 * | --- | --- | --- |
 * | `in:<shard>` | stream: what is sent to the owner of a shard | entries until what they asked for is durable |
 * | `to:<process>` | stream: what is posted to a process | entries until read; 5 min after the last post |
 * | `poke:<process>` | stream: a process hears itself, and is told to look | 1 min after the last |
 * | `steps:<queue>:<flow>` | stream: hints of Steps, read by a group | entries until claimed |
 * | `calls:<flow>` | stream: hints of RPCs and Queries | entries until claimed |
 * | `queues` | set: the task queues with hints, as `<queue>:<flow>` | for ever |
 * | `policies` | hash: task queues with a policy | for ever |
 * | `slots:<queue>:<key>` | sorted set: calls that hold a slot of a key, by when they lose it | 30 s after the last |
 * | `bull:…` | BullMQ's own, a queue for each of these | jobs until done |
 * | `shards` | how many shards the namespace has | for ever |
 * | `incarnation` | random: changes when data was lost | for ever |
 * | `engines` | sorted set: engines by the end of their lease | for ever |
 * | `clocks` | hash: how far each living engine's clock is from Redis' | as long as the engine |
 * | `owner:<shard>` | engine that holds the lease | its lease |
 */
export class RedisKeys {
  readonly prefix: string;

  /** Throws `INVALID_ARGUMENT` for a namespace that could not stand in a hash tag. */
  constructor(readonly namespace: string) {
    if (!/^[\w.-]{1,64}$/.test(namespace)) {
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `A namespace is 1 to 64 letters, digits, dots, hyphens and underscores, not ${JSON.stringify(namespace)}.`,
      );
    }
    this.prefix = `{holdfast:${namespace}}:`;
  }

  get queues(): string {
    return `${this.prefix}queues`;
  }

  get policies(): string {
    return `${this.prefix}policies`;
  }

  get bullPrefix(): string {
    return `${this.prefix}bull`;
  }

  get shards(): string {
    return `${this.prefix}shards`;
  }

  get incarnation(): string {
    return `${this.prefix}incarnation`;
  }

  get clocks(): string {
    return `${this.prefix}clocks`;
  }

  get engines(): string {
    return `${this.prefix}engines`;
  }

  slots({ taskQueue, key }: SlotKey): string {
    return `${this.prefix}slots:${queueName(taskQueue, key)}`;
  }

  inbox(shard: number): string {
    return `${this.prefix}in:${shard}`;
  }

  mailbox(process: string): string {
    return `${this.prefix}to:${process}`;
  }

  poke(process: string): string {
    return `${this.prefix}poke:${process}`;
  }

  owner(shard: number): string {
    return `${this.prefix}owner:${shard}`;
  }

  steps(queue: string): string {
    return `${this.prefix}steps:${queue}`;
  }

  calls(flow: string): string {
    return `${this.prefix}calls:${encodeURIComponent(flow)}`;
  }

  hintsOf({ taskQueue, flow }: AnyHint): string {
    return taskQueue === null ? this.calls(flow) : this.steps(queueName(taskQueue, flow));
  }
}

/** A task queue and a Flow as one name, in which neither can be taken for part of the other. */
export function queueName(taskQueue: string, flow: string): string {
  return `${encodeURIComponent(taskQueue)}:${encodeURIComponent(flow)}`;
}

export function queueParts(name: string): { taskQueue: string; flow: string } {
  const [taskQueue, flow] = name.split(':');
  return { taskQueue: decodeURIComponent(taskQueue!), flow: decodeURIComponent(flow!) };
}
