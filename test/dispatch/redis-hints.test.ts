import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Beat, CallHint, Hint, StepHint } from '../../lib/dispatch';
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

function stepHint(taskQueue: string): StepHint {
  const [flowId, runId, execution, step] = ['f', 'run', 'Step-1', 'Step'];
  return { kind: 'step', id: 'step', shard: 0, flowId, flow: 'Flow', runId, execution, issue: 1, step, taskQueue };
}

const beat: Beat = { kind: 'beat', process: 'somebody', tokens: [], values: [] };

describe('Hints over Redis', () => {
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

  /** By a worker that serves all task queues, of which its plans name none. */
  const isFound = async () => {
    const worker = await open(server.url);
    const seen: Hint[] = [];
    const wanted = { flows: ['Flow'], taskQueues: null, known: [] };
    worker.openHints(randomUUID(), wanted, (hint) => seen.push(hint)).want(10);
    await eventually(() => seen.length > 0, 30_000);
  };

  it('[T1][P6] of a task queue that only a movement names are found, also where Redis refused the first', async () => {
    await server.redis.config('SET', 'maxmemory', 1);
    engine.openOffers().offer(stepHint('extra'));
    // It goes in the same round trip as the hint.
    await assert.rejects(engine.send(0, beat), { code: 'REDIS_FULL' });
    await server.redis.config('SET', 'maxmemory', 0);
    await isFound();
  });

  it('[T1][P6] of a task queue that only a movement names are found, also where the first went with its connection', async () => {
    const cut = await open(proxy.url);
    proxy.cut();
    cut.openOffers().offer(stepHint('extra'));
    await assert.rejects(cut.send(0, beat), { code: 'REDIS_UNAVAILABLE' });
    await isFound();
  });
});
