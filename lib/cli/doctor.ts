import { fieldOf } from '../dispatch/redis/pulse';
import { RedisConnections } from '../dispatch/redis/redis-connections';
import type { RedisAddress } from '../dispatch/redis/redis-dispatch';
import { RedisKeys } from '../dispatch/redis/redis-keys';
import { HoldfastError } from '../errors';
import type { StateStore } from '../ports';
import { openStore } from '../store/open-store';

/** What one look has shown. */
export interface Examined {
  readonly what: string;
  readonly ok: boolean;
  readonly found: string;
  /** What is proven by it, or what cannot be relied on. */
  readonly proves: string;
}

export interface DoctorOptions {
  readonly store?: string | StateStore;
  readonly redis?: RedisAddress;
  /** [`default`] */
  readonly namespace?: string;
}

/** Clocks of hosts may differ by this much (W6). */
const clockLimitMs = 1_000;
/** A shard of its own, so that a system at work is not touched. Its few objects stay. */
const probeShard = 999_999;

/** Looks whether what a cluster stands on does what it must. Never throws for what it finds. */
export async function examine({ store, redis, namespace = 'default' }: DoctorOptions): Promise<Examined[]> {
  const examined: Examined[] = [];
  if (redis !== undefined) examined.push(...(await examineRedis(redis, new RedisKeys(namespace))));
  if (store !== undefined) examined.push(await examineStore(store));
  return examined;
}

async function examineRedis(address: RedisAddress, keys: RedisKeys): Promise<Examined[]> {
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const connections = new RedisConnections(address, logger);
  const { commands } = connections;
  try {
    await connections.open();
    const version = fieldOf(await commands.info('server'), 'redis_version') ?? 'unknown';
    const policy = fieldOf(await commands.info('memory'), 'maxmemory_policy') ?? 'unknown';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const before = Date.now();
    const time = await commands.time();
    const after = Date.now();
    const redisMs = Number(time[0]) * 1_000 + Number(time[1]) / 1_000;
    const clocks = await commands.hgetall(keys.clocks);
    const offsets = [(before + after) / 2 - redisMs, ...Object.values(clocks).map(Number)];
    const difference = Math.round(Math.max(...offsets) - Math.min(0, ...offsets));
    return [
      {
        what: 'Redis version',
        ok: major > 6 || (major === 6 && minor >= 2),
        found: version,
        proves: 'streams, groups and XAUTOCLAIM (6.2) are there',
      },
      {
        what: 'Redis eviction',
        ok: policy === 'noeviction',
        found: `maxmemory-policy ${policy}`,
        proves: 'a full Redis refuses new work, and never drops what it holds',
      },
      {
        what: 'Clocks',
        ok: difference <= clockLimitMs,
        found: `this host, Redis and ${Object.keys(clocks).length} engines differ by ${difference} ms`,
        proves: `timers fire at most ${clockLimitMs} ms early or late when a shard moves to another host`,
      },
    ];
  } catch (error) {
    return [{ what: 'Redis', ok: false, found: messageOf(error), proves: 'nothing can be said without it' }];
  } finally {
    connections.close();
  }
}

async function examineStore(given: string | StateStore): Promise<Examined> {
  const what = 'Store';
  let store: StateStore | undefined;
  try {
    store = typeof given === 'string' ? await openStore(given, { shared: true }) : given;
    const first = await store.open(probeShard);
    await first.write(new Map([['probe', Buffer.from('first')]]));
    const second = await store.open(probeShard);
    await second.write(new Map([['probe', Buffer.from('second')]]));
    const fenced = await first.write(new Map([['probe', Buffer.from('late')]])).then(
      () => false,
      (error) => error instanceof HoldfastError && error.code === 'FENCED',
    );
    const read = await second.get('probe');
    const kept = read !== undefined && Buffer.from(read).toString() === 'second';
    await first.close();
    await second.close();
    return {
      what,
      ok: fenced && kept && second.epoch > first.epoch,
      found: fenced
        ? `${store.location}: a second owner fenced the first`
        : `${store.location}: a replaced owner could still write: conditional writes (create only if absent) are ignored`,
      proves: 'two owners of one shard can never both save',
    };
  } catch (error) {
    return { what, ok: false, found: messageOf(error), proves: 'nothing can be said without it' };
  } finally {
    if (typeof given === 'string') await store?.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
