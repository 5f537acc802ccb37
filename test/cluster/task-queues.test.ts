import assert from 'node:assert/strict';
import { type EngineOptions, openClient, openEngine, openWorker } from '../../lib/cluster';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { type Job, JobsFlow, jobs } from '../support/queue-flows';
import { RedisProxy } from '../support/redis-proxy';
import { RedisServer } from '../support/redis-server';

describe('Task queues with a policy, by BullMQ', function () {
  this.timeout(180_000);
  let server: RedisServer;
  let closing: (() => unknown)[] = [];
  let round = 0;

  before(async () => {
    server = await RedisServer.start();
  });

  afterEach(async () => {
    for (const close of closing.reverse()) await close();
    closing = [];
  });

  after(() => server.stop());

  async function open(
    limited: NonNullable<EngineOptions['taskQueues']>[string],
    { workers = 2, redis = server.url } = {},
  ) {
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const namespace = `queues-${++round}`;
    const common = { redis, namespace, shards: 2, logger, signals: false, flows: [JobsFlow] };
    const engine = await openEngine({ ...common, store: new MemoryStateStore(), taskQueues: { limited } });
    closing.push(() => engine.close());
    for (let i = 0; i < workers; i++) {
      const worker = await openWorker({ ...common, grace: 0 });
      closing.push(() => worker.close());
    }
    const client = await openClient(common);
    closing.push(() => client.close());
    const run = async (flowId: string, all: readonly Job[]) => {
      await client.client.start(JobsFlow, flowId, all);
      await client.client.result(JobsFlow, flowId);
      return jobs.get(flowId)!;
    };
    return { engine, client: client.client, run, namespace };
  }

  it('[T1] concurrency, over all workers', async () => {
    const { run } = await open({ concurrency: 3 });
    const { most, begun } = await run(
      'bull-concurrency',
      many(20, (n) => ({ n, ms: 10 })),
    );
    assert.equal(begun.length, 20);
    assert.ok(most <= 3 && most > 1, `${most} ran at a time`);
  });

  it('[T1] a rate limit, over all workers', async () => {
    const { run } = await open({ rateLimit: { max: 4, per: 400 } });
    const { begun } = await run(
      'bull-rate',
      many(12, (n) => ({ n, ms: 0 })),
    );
    assert.equal(begun.length, 12);
    // Two windows must have passed; where each began is known to BullMQ only.
    assert.ok(begun[11]!.at - begun[0]!.at >= 400, `all began within ${begun[11]!.at - begun[0]!.at} ms`);
  });

  it('[T1] priority, a path into the input', async () => {
    const { run } = await open({ concurrency: 1, priority: 'urgency' }, { workers: 1 });
    const { begun } = await run(
      'bull-priority',
      many(9, (n) => ({ n, ms: 30, urgency: 3 - (n % 3) })),
    );
    const order = begun.map(({ n }) => n);
    // Whoever came first may have been taken before the others were there.
    assert.deepEqual(
      order.slice(1).filter((n) => n !== order[0]),
      [2, 5, 8, 1, 4, 7, 0, 3, 6].filter((n) => n !== order[0]),
    );
  });

  it('[T2][T3][C54] a cancelled Flow frees its slot, and policies survive FLUSHALL', async () => {
    const { run, client, engine, namespace } = await open({ concurrency: 1 });
    await client.start(
      JobsFlow,
      'bull-stuck',
      many(3, (n) => ({ n, ms: 5_000 })),
    );
    await eventually(() => assert.equal(jobs.get('bull-stuck')?.running, 1));
    const limited = () => engine.queues.find(({ taskQueue }) => taskQueue === 'limited');
    assert.deepEqual([limited()?.waiting, limited()?.running], [2, 1]);
    await client.stop('bull-stuck', 'cancel', 'no more');
    await eventually(() =>
      assert.deepEqual([limited()?.waiting, limited()?.running, limited()?.oldestAt], [0, 0, null]),
    );
    await run(
      'bull-next',
      many(2, (n) => ({ n, ms: 1 })),
    );
    await server.redis.flushall();
    // After a loss a limit may be exceeded, until it has been told again.
    const meta = `{holdfast:${namespace}}:bull:limited:meta`;
    await eventually(async () => assert.equal(await server.redis.hget(meta, 'concurrency'), '1'));
    const { begun, most } = await run(
      'bull-flushed',
      many(6, (n) => ({ n, ms: 5 })),
    );
    assert.equal(begun.length, 6);
    assert.equal(most, 1);
  });

  it('[C50] go on when every connection to Redis leads nowhere, and nobody is told', async () => {
    const proxy = await RedisProxy.start(server.port);
    closing.push(() => proxy.stop());
    const { client } = await open({ concurrency: 2 }, { redis: proxy.url });
    const all = many(12, (n) => ({ n, ms: 100 }));
    await client.start(JobsFlow, 'bull-stranded', all);
    await eventually(() => assert.ok((jobs.get('bull-stranded')?.begun.length ?? 0) > 3));
    proxy.strand();
    await client.result(JobsFlow, 'bull-stranded', { deadline: '90s' });
    assert.equal(new Set(jobs.get('bull-stranded')!.begun.map(({ n }) => n)).size, all.length);
  });

  it('[C50] go on when every connection that was made anew leads nowhere, and nobody is told', async () => {
    const proxy = await RedisProxy.start(server.port);
    closing.push(() => proxy.stop());
    const { client, namespace } = await open({ concurrency: 2 }, { redis: proxy.url });
    const all = many(12, (n) => ({ n, ms: 100 }));
    await client.start(JobsFlow, 'bull-swallowed', all);
    await eventually(() => assert.ok((jobs.get('bull-swallowed')?.begun.length ?? 0) > 3));
    await proxy.swallow();
    await client.result(JobsFlow, 'bull-swallowed', { deadline: '90s' });
    assert.equal(new Set(jobs.get('bull-swallowed')!.begun.map(({ n }) => n)).size, all.length);
    // Then workers wait for jobs, on connections of BullMQ's own.
    await eventually(async () => assert.deepEqual(await server.redis.keys(`*${namespace}}:bull:limited:active`), []));
    await client.start(JobsFlow, 'bull-later', all);
    await client.result(JobsFlow, 'bull-later', { deadline: '60s' });
  });

  it('[P6] go on after Redis was killed again and again, and came back empty', async () => {
    const { client } = await open({ concurrency: 2 });
    const all = many(30, (n) => ({ n, ms: 100 }));
    await client.start(JobsFlow, 'bull-killed', all);
    const result = client.result(JobsFlow, 'bull-killed', { deadline: '90s' });
    for (const ended of [3, 9, 15]) {
      await eventually(() => assert.ok((jobs.get('bull-killed')?.begun.length ?? 0) > ended), 60_000);
      await server.kill();
      await server.run();
    }
    await eventually(async () => void (await result), 90_000);
    const done = new Set(jobs.get('bull-killed')!.begun.map(({ n }) => n));
    assert.equal(done.size, all.length);
  });
});

function many(count: number, make: (n: number) => Job): Job[] {
  return Array.from({ length: count }, (_, n) => make(n));
}
