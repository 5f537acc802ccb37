import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Beat } from '../../lib/dispatch';
import { RedisDispatch } from '../../lib/dispatch/redis/redis-dispatch';
import { RedisKeys } from '../../lib/dispatch/redis/redis-keys';
import { systemClock } from '../../lib/embedded/system-clock';
import { KeyedSlots } from '../../lib/engine/keyed-slots';
import { SessionClock } from '../../lib/engine/session-clock';
import { eventually } from '../support/eventually';
import { RedisProxy } from '../support/redis-proxy';
import { RedisServer } from '../support/redis-server';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const of = { taskQueue: 'keyed', key: 'a' };
const key = new RedisKeys('slots').slots(of);
const beat: Beat = { kind: 'beat', process: 'somebody', tokens: [], values: [] };

describe('Slots over Redis that are freed while it cannot be told', () => {
  let server: RedisServer;
  let proxy: RedisProxy;
  let dispatch: RedisDispatch;
  let clock: SessionClock;
  let keyed: KeyedSlots;

  beforeEach(async () => {
    server = await RedisServer.start();
    proxy = await RedisProxy.start(server.port);
    dispatch = await RedisDispatch.open({
      ...{ redis: proxy.url, namespace: 'slots', process: randomUUID(), shards: 1, logger },
    });
    clock = new SessionClock(systemClock);
    keyed = new KeyedSlots(dispatch.slots, clock, () => {});
  });

  afterEach(async () => {
    keyed.close();
    clock.end();
    dispatch.close();
    await proxy.stop();
    await server.stop();
  });

  const holders = () => server.redis.zrange(key, 0, -1);

  async function hold(...names: string[]): Promise<void> {
    for (const name of names) keyed.holdAgain(`token of ${name}`, name, of);
    await eventually(async () => assert.deepEqual(await holders(), names));
  }

  it('[T2] are free soon after the connection is there again', async () => {
    await hold('first');
    proxy.cut();
    keyed.over('token of first');
    // It went in the same round trip.
    await assert.rejects(dispatch.send(0, beat), { code: 'REDIS_UNAVAILABLE' });
    assert.deepEqual(await holders(), ['first']);
    await eventually(async () => assert.deepEqual(await holders(), []), 15_000);
  });

  it('[T2] are free soon after Redis lets itself be told, and those of others stay taken', async () => {
    await hold('first', 'second');
    await server.redis.config('SET', 'min-replicas-to-write', 1);
    keyed.over('token of first');
    await assert.rejects(dispatch.send(0, beat), { code: 'REDIS_UNAVAILABLE' });
    await server.redis.config('SET', 'min-replicas-to-write', 0);
    assert.deepEqual(await holders(), ['first', 'second']);
    await eventually(async () => assert.deepEqual(await holders(), ['second']), 15_000);
  });
});
