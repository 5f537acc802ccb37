import assert from 'node:assert/strict';
import { TestCluster, type TestClusterOptions, type TestNode } from '../support/cluster';
import { HoldFlow } from '../support/cluster-flows';
import { eventually } from '../support/eventually';
import { RedisProxy } from '../support/redis-proxy';

describe('A worker that serves a task queue with a policy ends when it is told to', function () {
  this.timeout(120_000);
  let cluster: TestCluster;
  let engine: TestNode;
  let worker: TestNode;
  let proxy: RedisProxy | undefined;

  async function open(options: Pick<TestClusterOptions, 'via'> = {}): Promise<void> {
    cluster = await TestCluster.start({ taskQueues: { keyed: { concurrency: 2 } }, ...options });
    proxy = options.via && (await RedisProxy.start(cluster.server.port));
    [engine, worker] = await Promise.all([cluster.engine(), cluster.worker({ grace: 0 })]);
    await cluster.openClient();
  }

  afterEach(async () => {
    await cluster.stop();
    await proxy?.stop();
  });

  const start = (name: string, ms: number) => cluster.client.start(HoldFlow, name, { key: name, ms });

  const did = (name: string, what: 'begins' | 'ends') =>
    eventually(async () => assert.equal((await cluster.effects('hold', name, what)).length, 1));

  async function ends(): Promise<void> {
    worker.signal('SIGTERM');
    await eventually(() => !worker.isAlive, 20_000);
    assert.equal(await worker.exit(), 0);
  }

  it('[X6] with an attempt that runs, and no engine to give it back to', async () => {
    await open();
    await start('runs', 60_000);
    await did('runs', 'begins');
    await engine.kill();
    await ends();
  });

  it('[X6] with an attempt that has ended, and no engine that takes its result', async () => {
    await open();
    await start('ended', 1_000);
    await did('ended', 'begins');
    await engine.kill();
    await did('ended', 'ends');
    await ends();
  });

  /** The worker has done something, and knows that its result was taken. */
  async function isIdle(): Promise<void> {
    await start('before', 0);
    await cluster.client.result(HoldFlow, 'before');
    await eventually(async () => assert.deepEqual(await cluster.server.redis.keys('*bull:keyed:active'), []));
  }

  it('[X6] while Redis is down', async () => {
    await open();
    await isIdle();
    await cluster.server.kill();
    await eventually(async () => assert.equal((await worker.ask()).isHealthy, false));
    await ends();
  });

  it('[X6] while connections lead nowhere that were made anew', async () => {
    await open({ via: () => proxy!.url });
    await isIdle();
    await proxy!.swallow();
    // BullMQ gives up waiting after 6 s, and waits for its connection then.
    const given = Date.now() + 8_000;
    await eventually(() => Date.now() > given);
    await ends();
  });
});
