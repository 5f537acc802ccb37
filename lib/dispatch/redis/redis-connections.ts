import { Cluster, type ClusterNode, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { HoldfastError } from '../../errors';
import type { Logger } from '../../ports';
import { withinTime } from '../../values';

/**
 * Where Redis is: a URL (`redis://`, `rediss://` for TLS, with user and password), options of ioredis (Sentinel and TLS
 * included), or the nodes of a Redis Cluster.
 */
export type RedisAddress =
  | string
  | RedisOptions
  | { readonly cluster: readonly ClusterNode[]; readonly options?: ClusterOptions };

/** How long a command may take before its outcome counts as unknown; one that blocks does so for a second at most. */
const commandTimeoutMs = 5_000;
const openTimeoutMs = 10_000;
const proofMs = 3_000;

/** The connections of one process. Each reconnects by itself, and a lost one never ends the process. */
export class RedisConnections {
  /** For everything that does not block. Refuses at once while it is not connected. */
  readonly commands: Redis;
  private readonly all: Redis[] = [];
  /** Those whose commands wait for as long as it takes, and whether they block. */
  private readonly patientOnes = new Map<Redis, { readonly blocks: boolean }>();
  /** Of these, what was connected and not ready at the last look. */
  private readonly silent = new Set<Redis>();
  private lastError: Error | undefined;
  private closed = false;

  constructor(
    private readonly address: RedisAddress,
    private readonly logger: Logger,
  ) {
    this.commands = this.connection({});
  }

  /** Throws `REDIS_UNAVAILABLE` when Redis cannot be reached within 10 s. */
  async open(): Promise<void> {
    await this.ready(this.commands);
  }

  /** One more connection, for a reader that blocks. */
  async blocking(): Promise<Redis> {
    const connection = this.connection({});
    await this.ready(connection).catch(() => {
      // It goes on trying; so does its reader.
    });
    return connection;
  }

  /** One more connection, as BullMQ wants it: commands wait until it is there. */
  async patient(): Promise<Redis> {
    const connection = this.patientOne(false);
    // BullMQ takes another one to wait for jobs, by a name of its own.
    connection.duplicate = (named) => this.patientOne(true, named);
    return connection;
  }

  private patientOne(blocks: boolean, named: Partial<RedisOptions> = {}): Redis {
    const connection = this.connection({
      ...named,
      enableOfflineQueue: true,
      autoResendUnfulfilledCommands: true,
      maxRetriesPerRequest: null,
      commandTimeout: undefined,
    });
    this.patientOnes.set(connection, { blocks });
    connection.connect().catch(() => {});
    return connection;
  }

  /** Makes patient connections anew that nobody answers on: their commands never fail, so that nobody else would notice. */
  prove(): void {
    for (const [connection, { blocks }] of this.patientOnes) {
      const wasSilent = this.silent.delete(connection);
      if (connection.status === 'connect') {
        // It is greeted by nobody.
        if (wasSilent) connection.disconnect(true);
        else this.silent.add(connection);
      }
      // BullMQ watches by itself what it waits on, once it is ready.
      if (connection.status !== 'ready' || blocks) continue;
      withinTime(connection.ping(), proofMs, () => new Error('no answer')).catch(() => this.renew(connection));
    }
  }

  /** A command failed: where nobody answered, the connection is dead, and is made anew. */
  failed(connection: Redis, error: unknown): void {
    if (error instanceof Error && error.message === timedOut) this.renew(connection);
  }

  /** Gives a connection up that nobody answers on, and makes another. */
  renew(connection: Redis): void {
    if (connection.status === 'ready') connection.disconnect(true);
  }

  close(): void {
    this.closed = true;
    for (const connection of this.all) {
      // BullMQ may be about to connect again what it waits on.
      connection.connect = () => Promise.reject(new Error('the connection was closed'));
      connection.disconnect();
    }
  }

  release(connection: Redis): void {
    connection.disconnect();
    this.all.splice(this.all.indexOf(connection), 1);
  }

  private connection(own: RedisOptions): Redis {
    const options: RedisOptions = {
      lazyConnect: true,
      enableOfflineQueue: false,
      // What was sent when the connection was lost fails at once, and is never sent late: it would get no answer at all else.
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: commandTimeoutMs,
      sentinelCommandTimeout: commandTimeoutMs,
      connectTimeout: 5_000,
      keepAlive: 10_000,
      retryStrategy: (times) => (this.closed ? null : Math.min(20 * 2 ** Math.min(times, 6), 1_000)),
      // A primary that became a replica: ask where the primary is now.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
      ...own,
    };
    const connection = this.make(options);
    connection.on('error', (error: Error) => {
      if (this.lastError?.message !== error.message) this.logger.warn('Redis cannot be used now', { error });
      this.lastError = error;
    });
    this.all.push(connection);
    return connection;
  }

  private make(options: RedisOptions): Redis {
    const { address } = this;
    if (typeof address === 'string') return new Redis(address, options);
    if (!('cluster' in address)) return new Redis({ ...address, ...options });
    const { lazyConnect, enableOfflineQueue, retryStrategy, ...redisOptions } = options;
    const cluster = new Cluster([...address.cluster], {
      ...address.options,
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy as (times: number) => number,
      redisOptions: { ...address.options?.redisOptions, ...redisOptions },
    });
    // It has the same commands; what differs is not used here.
    return cluster as unknown as Redis;
  }

  private async ready(connection: Redis): Promise<void> {
    let cancel = () => {};
    const late = new Promise<never>((_, reject) => {
      const timer = setTimeout(() => reject(this.lastError ?? new Error('no answer')), openTimeoutMs);
      cancel = () => clearTimeout(timer);
    });
    const ready = new Promise<void>((resolve, reject) => {
      if (connection.status === 'ready') resolve();
      else connection.once('ready', () => resolve());
      // It was closed meanwhile.
      connection.once('end', () => reject(new Error('the connection was closed')));
    });
    connection.connect().catch(() => {});
    try {
      await Promise.race([ready, late]);
    } catch (cause) {
      throw redisError(cause);
    } finally {
      cancel();
    }
  }
}

const timedOut = 'Command timed out';

/** What ioredis says of a connection, in words that say something to its user. */
const causes = [
  [timedOut, 'it gave no answer in time.'],
  ['Stream isn', 'it is not connected.'],
  ['Reached the max retries', 'the connection was lost.'],
] as const;

/** What Redis or the way to it has said, as a typed error. */
export function redisError(cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  const said = cause instanceof Error ? cause.message : String(cause);
  const why = causes.find(([start]) => said.startsWith(start))?.[1] ?? said;
  if (why.startsWith('OOM')) {
    return new HoldfastError('REDIS_FULL', 'Redis has no memory left and takes nothing in.', { cause });
  }
  return new HoldfastError('REDIS_UNAVAILABLE', `Redis cannot be used now: ${why}`, { cause });
}
