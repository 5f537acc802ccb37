import { HoldfastError } from '../../errors';
import type {
  AnyHint,
  HintReader,
  Inbox,
  Logger,
  Mailbox,
  Offers,
  Origin,
  QueuePolicies,
  Subscription,
} from '../../ports';
import { decodeRecord, withinTime } from '../../values';
import { Epochs } from '../epochs';
import type { Hint, HoldfastDispatch, ToProcess, ToShard } from '../messages';
import { BullOffers } from './bull-offers';
import { Outbox } from './outbox';
import { fieldOf, Pulse } from './pulse';
import { type RedisAddress, RedisConnections } from './redis-connections';
import { RedisHintReader } from './redis-hint-reader';
import { RedisInbox } from './redis-inbox';
import { RedisKeys } from './redis-keys';
import { RedisLeases } from './redis-leases';
import { RedisOffers } from './redis-offers';
import { RedisSlots } from './redis-slots';
import { StepHintReader } from './step-hint-reader';
import { StreamListener } from './stream-listener';

/** XAUTOCLAIM came with 6.2. */
const oldestVersion = [6, 2] as const;

/** How long BullMQ may take to end. */
const endMs = 3_000;
/** What may be repeated after a refusal; what holds or frees something is never refused. */
const refusable = new Set<ToShard['kind']>(['request', 'call', 'read', 'index']);

export interface RedisDispatchOptions {
  readonly redis: RedisAddress;
  /** Keeps systems on one Redis apart. */
  readonly namespace: string;
  /** Names this process; new for each. */
  readonly process: string;
  readonly shards: number;
  readonly logger: Logger;
  /** Work with a Redis that may evict keys: what it drops is found and offered again, later. */
  readonly allowEviction?: boolean;
  /** Task queues with a policy, told by engines. */
  readonly taskQueues?: QueuePolicies;
}

export type { RedisAddress };

/** Dispatch over Redis Streams, for processes on any number of machines. All that goes through it may be lost. */
export class RedisDispatch implements HoldfastDispatch {
  readonly leases: RedisLeases;
  readonly slots: RedisSlots;
  private readonly keys: RedisKeys;
  private readonly connections: RedisConnections;
  private readonly outbox: Outbox;
  private readonly listener: StreamListener;
  private readonly offers: RedisOffers;
  private readonly bull: BullOffers;
  private readonly pulse: Pulse;
  private readonly looks = new Set<() => void>();
  private readonly readers = new Set<HintReader<AnyHint>>();

  private constructor(private readonly options: RedisDispatchOptions) {
    const { redis, namespace, process, logger } = options;
    this.keys = new RedisKeys(namespace);
    this.connections = new RedisConnections(redis, logger);
    const { commands } = this.connections;
    this.outbox = new Outbox(commands, this.keys, logger);
    this.slots = new RedisSlots(this.outbox, this.keys);
    this.listener = new StreamListener(this.connections, logger);
    const policies = options.taskQueues ?? new Map();
    this.bull = new BullOffers(policies, this.connections, this.keys, this.outbox, logger);
    this.offers = new RedisOffers(this.keys, this.outbox, logger, this.bull);
    this.leases = new RedisLeases(commands, this.keys, (look) => {
      this.looks.add(look);
      return () => this.looks.delete(look);
    });
    this.pulse = new Pulse(process, this.keys, this.outbox, logger, {
      lost: () => this.recover(),
      deaf: () => {
        this.connections.renew(commands);
        this.listener.renew();
      },
      prove: () => this.connections.prove(),
      look: () => {
        for (const look of this.looks) look();
      },
    });
  }

  /** Throws `REDIS_UNAVAILABLE`, and `REDIS_UNSUITABLE` for one that is too old or may evict keys. */
  static async open(options: RedisDispatchOptions): Promise<RedisDispatch> {
    const dispatch = new RedisDispatch(options);
    try {
      await dispatch.connections.open();
      await dispatch.check();
      await dispatch.agreeOnShards();
      await dispatch.listener.open();
      const poke = dispatch.keys.poke(options.process);
      dispatch.listener.add(poke, (entries) => dispatch.pulse.hear(entries));
      await dispatch.pulse.open();
      dispatch.offers.open();
      await dispatch.bull.open();
      return dispatch;
    } catch (error) {
      dispatch.close();
      throw error;
    }
  }

  /** Whether what is sent to this process arrives: its own message came back lately. */
  get isHeard(): boolean {
    return this.pulse.isHeard;
  }

  send(shard: number, message: ToShard): Promise<void> {
    return this.outbox.send(shard, message, refusable.has(message.kind));
  }

  openInbox(shard: number, onArrival: () => void): Inbox<ToShard> {
    const key = this.keys.inbox(shard);
    const { logger } = this.options;
    const inbox = new RedisInbox<ToShard>({
      isHeard: () => this.pulse.isHeard,
      onArrival,
      remove: (ids) => this.outbox.attempt('XDEL', key, ...ids),
      full: (full) => this.listener.pause(key, full),
      unreadable: (error) => logger.error('a message cannot be read and is dropped', { shard, error }),
      close: () => this.listener.remove(key),
    });
    this.listener.add(key, (entries) => inbox.add(entries));
    this.pulse.poke();
    return inbox;
  }

  openMailbox(process: string, onMessage: (message: ToProcess) => void): Mailbox {
    const key = this.keys.mailbox(process);
    const epochs = new Epochs();
    this.listener.add(key, (entries) => {
      this.outbox.attempt('XDEL', key, ...entries.map(({ id }) => id));
      for (const { values } of entries) {
        for (const value of values) {
          const [shard, epoch, message] = decodeRecord(value) as [number, number, ToProcess];
          if (epochs.accept({ shard, epoch })) onMessage(message);
        }
      }
    });
    this.pulse.poke();
    return {
      close: () => {
        this.listener.remove(key);
        this.outbox.attempt('DEL', key);
      },
    };
  }

  post(process: string, message: ToProcess, from: Origin): void {
    this.outbox.post(process, message, from);
  }

  openOffers(): Offers<Hint> {
    return this.offers.openOffers() as Offers<Hint>;
  }

  openHints(process: string, wanted: Subscription, onHint: (hint: Hint) => void): HintReader<Hint> {
    const { connections, keys, outbox } = this;
    const { logger } = this.options;
    const Reader = wanted.taskQueues === 'calls' ? RedisHintReader : StepHintReader;
    const reader = new Reader({
      ...{ process, wanted, connections, keys, outbox, logger },
      onHint: (hint) => onHint(hint as Hint),
    });
    this.readers.add(reader);
    return reader as HintReader<Hint>;
  }

  /** Nobody knows: a process that is silent may come back. */
  isGone(): boolean {
    return false;
  }

  close(): void {
    for (const reader of this.readers) reader.close();
    this.offers.close();
    const ended = Promise.allSettled([this.bull.close(), ...[...this.readers].map((reader) => reader.end?.())]);
    this.pulse.close();
    this.outbox.close();
    this.listener.close();
    // What was sent in this tick goes out first.
    setImmediate(() =>
      withinTime(ended, endMs, () => new Error('not in time'))
        .catch(() => {})
        .then(() => this.connections.close()),
    );
  }

  private recover(): void {
    this.listener.reset();
    this.offers.reissue();
    this.pulse.poke();
  }

  /** Messages for a shard must reach its owner: every process counts the same shards. */
  private async agreeOnShards(): Promise<void> {
    const { shards, namespace } = this.options;
    await this.outbox.command('SET', this.keys.shards, shards, 'NX');
    const agreed = await this.outbox.command<string>('GET', this.keys.shards);
    if (Number(agreed) === shards) return;
    throw new HoldfastError(
      'STORE_LAYOUT',
      `The namespace ${namespace} has ${agreed} shards; this process was told of ${shards}.`,
    );
  }

  private async check(): Promise<void> {
    const { allowEviction } = this.options;
    const [server, memory] = await Promise.all([
      this.outbox.command<string>('INFO', 'server'),
      this.outbox.command<string>('INFO', 'memory'),
    ]);
    const version = fieldOf(server, 'redis_version') ?? '0';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1])) {
      throw new HoldfastError('REDIS_UNSUITABLE', `Redis ${version} is too old; ${oldestVersion.join('.')} is needed.`);
    }
    const policy = fieldOf(memory, 'maxmemory_policy') ?? 'unknown';
    if (policy === 'noeviction') return;
    if (!allowEviction) {
      throw new HoldfastError('REDIS_UNSUITABLE', `Redis may evict keys: its maxmemory-policy is ${policy}.`);
    }
    this.options.logger.warn('Redis may evict keys; what it drops is found again, but later', { policy });
  }
}
