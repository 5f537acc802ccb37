import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ToShard } from '../../lib/dispatch';
import { RedisDispatch } from '../../lib/dispatch/redis/redis-dispatch';
import { RedisKeys } from '../../lib/dispatch/redis/redis-keys';
import { eventually } from '../support/eventually';
import { RedisServer } from '../support/redis-server';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const namespace = 'crowded';
/** One more than are let in. */
const entries = 50_001;
const shards = [0, 1, 2, 3, 4, 5, 6, 7];
const fill = `for i = 1, ${entries} do redis.call('XADD', KEYS[1], '*', 'm', '') end`;

const fromClients = ['request', 'call', 'read', 'index'];
const fromOthers = ['claim', 'result', 'callResult', 'beat', 'introduce', 'presence', 'leave', 'tell'];

function messageOf(kind: string): ToShard {
  return { kind, flowId: 'f' } as unknown as ToShard;
}

describe('An inbox over Redis that nobody takes from', () => {
  let server: RedisServer;
  let dispatch: RedisDispatch;

  beforeEach(async () => {
    server = await RedisServer.start();
    dispatch = await RedisDispatch.open({
      ...{ redis: server.url, namespace, process: randomUUID(), shards: shards.length, logger },
    });
  });

  afterEach(async () => {
    dispatch.close();
    await server.stop();
  });

  const inboxOf = (shard: number) => new RedisKeys(namespace).inbox(shard);

  /** The send that finds it full is let in still. */
  async function crowd(shard: number): Promise<void> {
    await server.redis.eval(fill, 1, inboxOf(shard));
    await dispatch.send(shard, messageOf('read'));
  }

  it('[P9] refuses clients, and nobody else', async () => {
    await crowd(0);
    const sends = (kinds: readonly string[]) =>
      Promise.allSettled(
        Array.from({ length: 5 }, () => kinds.map((kind) => dispatch.send(0, messageOf(kind)))).flat(),
      );
    const refused = (await sends(fromClients)).filter(({ status }) => status === 'rejected');
    assert.ok(refused.length > 0);
    for (const each of refused) assert.equal((each as PromiseRejectedResult).reason.code, 'OVERLOADED');
    for (const [i, each] of (await sends(fromOthers)).entries()) {
      assert.equal(each.status, 'fulfilled', fromOthers[i % fromOthers.length]);
    }
  });

  it('[P9] takes what few clients send soon after it was emptied', async () => {
    // Each by itself: what one lets in by chance tells nothing of the others.
    for (const shard of shards) await crowd(shard);
    for (const shard of shards) await server.redis.xtrim(inboxOf(shard), 'MAXLEN', 0);
    await Promise.all(
      shards.map(async (shard) => {
        let triedAt = 0;
        await eventually(async () => {
          if (performance.now() - triedAt < 200) return false;
          triedAt = performance.now();
          await dispatch.send(shard, messageOf('read'));
        }, 5_000);
      }),
    );
  });
});
