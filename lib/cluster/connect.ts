import { type RedisAddress, RedisDispatch } from '../dispatch/redis/redis-dispatch';
import { consoleLogger } from '../embedded/console-logger';
import { guarded } from '../embedded/guarded-logger';
import { guardedTelemetry } from '../embedded/guarded-telemetry';
import { systemClock } from '../embedded/system-clock';
import { idsBy } from '../embedded/system-ids';
import { HoldfastError } from '../errors';
import type { Clock, FlowIndex, Ids, Logger, QueuePolicies, Telemetry } from '../ports';
import { type IndexAddress, openIndex } from '../search/open-index';

/** What every process of a cluster is told. */
export interface ClusterOptions {
  /** A URL, options of ioredis (TLS, user, password, Sentinel), or the nodes of a Redis Cluster. */
  readonly redis: RedisAddress;
  /** Keeps systems on one Redis apart: letters, digits, dots, hyphens, underscores [`default`]. */
  readonly namespace?: string;
  /** Parts the state is cut into; fixed when the store is made, the same in every process [16]. */
  readonly shards?: number;
  /** [warnings and errors as JSON lines on standard error] */
  readonly logger?: Logger;
  /** Where counts and timings go [nowhere] (K5). */
  readonly telemetry?: Telemetry;
  /** Work with a Redis that may evict keys: what it drops is found again, later [false]. */
  readonly allowEviction?: boolean;
  /** Another time than the host's for all but leases and Redis, for tests that move it. */
  readonly clock?: Clock;
  /** Close in good order on SIGTERM and SIGINT; a second signal ends the grace [true]. */
  readonly signals?: boolean;
}

/** Of engines and clients. */
export interface SearchOptions {
  /**
   * Where runs are searched for, the same for every engine and for the clients that search: `postgres://…`, options of a
   * TypeORM DataSource, or an index [none].
   */
  readonly index?: IndexAddress;
}

export const defaultShards = 16;

export interface Connected {
  readonly process: string;
  readonly dispatch: RedisDispatch;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly telemetry: Telemetry | undefined;
  readonly shards: number;
  readonly index: FlowIndex | undefined;
}

/** Connects a process. Throws `REDIS_UNAVAILABLE`, `REDIS_UNSUITABLE`, `INVALID_ARGUMENT`, `STORE_LAYOUT`, `INDEX_URL`. */
export async function connect(options: ClusterOptions & SearchOptions, taskQueues?: QueuePolicies): Promise<Connected> {
  const { redis, namespace = 'default', shards = defaultShards, allowEviction = false } = options;
  if (!Number.isInteger(shards) || shards < 1 || shards > 1_024) {
    throw new HoldfastError('INVALID_ARGUMENT', `shards is a whole number from 1 to 1024, not ${shards}.`);
  }
  if (options.index === 'memory:') {
    throw new HoldfastError('INDEX_URL', 'memory: is an index of one process; a cluster needs one that all reach.');
  }
  const index = options.index === undefined ? undefined : await openIndex(options.index, namespace);
  const logger = guarded(options.logger ?? consoleLogger);
  const clock = options.clock ?? systemClock;
  const ids = idsBy(clock);
  const process = ids.next();
  const dispatch = await RedisDispatch.open({
    ...{ redis, namespace, process, logger, allowEviction, shards },
    ...(taskQueues && { taskQueues }),
  });
  const telemetry = guardedTelemetry(options.telemetry);
  return { process, dispatch, clock, ids, logger, telemetry, shards, index };
}

/** Closes on SIGTERM and SIGINT, each time one comes. Gives how to stop listening. */
export function closeOnSignals(close: () => Promise<void>, enabled = true): () => void {
  if (!enabled) return () => {};
  const onSignal = () => {
    close().catch(() => {});
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return () => {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  };
}
