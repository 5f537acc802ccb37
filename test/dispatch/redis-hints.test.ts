import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { CallHint, Hint } from '../../lib/dispatch';
import { RedisDispatch } from '../../lib/dispatch/redis/redis-dispatch';
import { hintGroup, RedisKeys } from '../../lib/dispatch/redis/redis-keys';
import { eventually } from '../support/eventually';
import { RedisProxy } from '../support/redis-proxy';
import { RedisServer } from '../support/redis-server';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const wanted = { flows: ['Flow'], taskQueues: 'calls' as const };

function hintNumbered(n: number): CallHint {
  const [flowId, requestId] = ['f', `call ${n}`];
  return { kind: 'call', id: requestId, shard: 0, flowId, flow: 'Flow', requestId, rpc: 'ask', taskQueue: null };
}

describe('Hints over Redis', function () {
  this.timeout(60_000);
  let server: RedisServer;
  let proxy: RedisProxy;
  let engine: RedisDispatch;
  const opened: RedisDispatch[] = [];

  const open = async (redis: string) => {
    const dispatch = await RedisDispatch.open({
      ...{ redis, namespace: 'hints', process: randomUUID(), shards: 1, logger },
    });
    opened.push(dispatch);
    return dispatch;
  };

  beforeEach(async () => {
    server = await RedisServer.start();
    proxy = await RedisProxy.start(server.port);
    engine = await open(server.url);
  });

  afterEach(async () => {
    for (const dispatch of opened.splice(0)) dispatch.close();
    await proxy.stop();
    await server.stop();
  });

  for (const command of ['XREADGROUP', 'XAUTOCLAIM']) {
    it(`[C50] are read again after a connection was lost with the reply to ${command}`, async () => {
      const worker = await open(proxy.url);
      const seen: Hint[] = [];
      const reader = worker.openHints(randomUUID(), wanted, (hint) => {
        seen.push(hint);
        reader.done(hint);
        reader.want(10);
      });
      reader.want(10);
      proxy.loseReplies(new RegExp(command), 1);
      // It looks for what others left lying every 5 s.
      await eventually(() => proxy.lost.length === 1, 20_000);
      engine.openOffers().offer(hintNumbered(1));
      await eventually(() => seen.length === 1, 20_000);
    });
  }

  it('[C08] that were read and not claimed go to another worker', async () => {
    const still = await open(server.url);
    const taken: Hint[] = [];
    still.openHints(randomUUID(), wanted, (hint) => taken.push(hint)).want(1);
    engine.openOffers().offer(hintNumbered(1));
    await eventually(() => taken.length === 1);
    const other = await open(server.url);
    const seen: Hint[] = [];
    other.openHints(randomUUID(), wanted, (hint) => seen.push(hint)).want(10);
    await eventually(() => seen.length === 1, 30_000);
    assert.equal(seen[0]!.id, taken[0]!.id);
  });

  it('[C08] that were on their way to a worker which stops go to another one', async () => {
    const worker = await open(server.url);
    const name = randomUUID();
    const taken: Hint[] = [];
    const reader = worker.openHints(name, wanted, (hint) => taken.push(hint));
    reader.want(1);
    const offers = engine.openOffers();
    offers.offer(hintNumbered(1));
    await eventually(() => taken.length === 1);
    offers.offer(hintNumbered(2));
    const stream = new RedisKeys('hints').calls('Flow');
    await eventually(async () => assert.equal(await server.redis.xlen(stream), 2));
    // As if it had come when the reader did not look any more.
    await server.redis.xreadgroup('GROUP', hintGroup, name, 'COUNT', 1, 'STREAMS', stream, '>');
    reader.close();
    const other = await open(server.url);
    const seen = new Set<string>();
    other.openHints(randomUUID(), wanted, ({ id }) => seen.add(id)).want(10);
    await eventually(() => seen.size === 2, 30_000);
  });
});
