import assert from 'node:assert/strict';
import { HoldfastError } from '../../index';
import { openClient } from '../../lib/cluster';
import { TestCluster, type TestNode } from '../support/cluster';
import { CountFlow, clusterFlows, RaceFlow } from '../support/cluster-flows';
import { Load } from '../support/cluster-load';
import { eventually } from '../support/eventually';
import { RedisProxy } from '../support/redis-proxy';
import { freePort } from '../support/redis-server';

async function allHealthy(nodes: readonly TestNode[]): Promise<void> {
  await eventually(async () => {
    for (const node of nodes) assert.equal((await node.ask()).isHealthy, true);
  });
}

describe('Redis loses what it holds', function () {
  this.timeout(240_000);
  let cluster: TestCluster;
  let nodes: TestNode[];

  beforeEach(async () => {
    cluster = await TestCluster.start();
    nodes = await Promise.all([cluster.engine(), cluster.worker(), cluster.worker()]);
    await cluster.openClient();
  });

  afterEach(async () => {
    const unhandled = nodes.flatMap((node) => node.unhandled);
    await cluster.stop();
    assert.deepEqual(unhandled, []);
  });

  it('[C54][P6] FLUSHALL and SCRIPT FLUSH under load: everything acknowledged is done, once', async () => {
    const load = await Load.start(cluster.client, 'flush', 10);
    await cluster.server.redis.flushall();
    await cluster.server.redis.script('FLUSH');
    const more = Load.start(cluster.client, 'more', 5);
    await cluster.server.redis.flushall();
    await load.feed();
    await load.check(cluster);
    await (await more).feed();
    await (await more).check(cluster);
    await allHealthy(nodes);
  });

  it('[P6] a Redis that is killed and comes back empty', async () => {
    const load = await Load.start(cluster.client, 'killed', 8);
    await cluster.server.kill();
    await eventually(async () => assert.equal((await nodes[1]!.ask()).isHealthy, false), 15_000);
    await cluster.server.run();
    await load.feed();
    await load.check(cluster);
    await allHealthy(nodes);
  });

  it('[C54][P6] a clock that went back by an hour, with what Redis held: ids of streams begin below those that were read', async () => {
    const { redis } = cluster.server;
    const load = await Load.start(cluster.client, 'past', 4);
    for (const key of await redis.keys('*')) {
      if (/:(in|to|poke|steps|calls):/.test(key)) await redis.call('XSETID', key, `${Date.now() + 3_600_000}-0`);
    }
    const ahead = await Load.start(cluster.client, 'ahead', 4);
    await redis.flushall();
    await load.feed();
    await ahead.feed();
    await load.check(cluster);
    await ahead.check(cluster);
    await allHealthy(nodes);
  });

  it('[C17] timers that come due while nobody runs fire once after the restart, also with Redis emptied', async () => {
    const { client } = cluster;
    for (let i = 0; i < 5; i++) await client.start(RaceFlow, `overdue-${i}`, 2_000);
    await Promise.all(nodes.map((node) => node.kill()));
    await cluster.server.redis.flushall();
    const due = Date.now() + 2_500;
    await eventually(() => Date.now() > due);
    nodes = await Promise.all([cluster.engine(), cluster.worker()]);
    for (let i = 0; i < 5; i++) {
      assert.equal(await client.result(RaceFlow, `overdue-${i}`), 'timer');
      assert.equal((await cluster.effects('race', `overdue-${i}`)).length, 1);
    }
  });
});

describe('Redis refuses, or cannot be reached', function () {
  this.timeout(300_000);

  it('[C50] after every kind of error consumption and timers go on', async () => {
    let proxy!: RedisProxy;
    const cluster = await TestCluster.start({ lease: '3s', via: () => proxy.url });
    proxy = await RedisProxy.start(cluster.server.port);
    const nodes = await Promise.all([cluster.engine(), cluster.worker()]);
    const client = await cluster.openClient();
    const errors = [
      'UNBLOCKED client unblocked via CLIENT UNBLOCK',
      'LOADING Redis is loading the dataset in memory',
      'BUSY Redis is busy running a script',
      'NOSCRIPT No matching script',
      'TRYAGAIN Multiple keys request during rehashing of slot',
      "READONLY You can't write against a read only replica.",
    ];
    const faults: [string, () => void][] = [
      ...errors.map((error): [string, () => void] => [error.split(' ')[0]!, () => proxy.inject(error)]),
      ['ECONNRESET', () => proxy.cut()],
      ['NOGROUP', () => void destroyGroups(cluster)],
      ['no FIN', () => proxy.freeze()],
    ];
    for (const [name, fault] of faults) {
      await client.start(RaceFlow, `${name}-during`, 500);
      fault();
      if (name === 'no FIN') {
        await eventually(async () => assert.equal((await nodes[1]!.ask()).isHealthy, false), 60_000);
        proxy.thaw();
      }
      await client.start(CountFlow, `${name}-after`, { left: 3, pauseMs: 0 });
      assert.equal(await client.result(CountFlow, `${name}-after`), 6, name);
      assert.equal(await client.result(RaceFlow, `${name}-during`), 'timer', name);
    }
    await allHealthy(nodes);
    assert.deepEqual(
      nodes.flatMap(({ unhandled }) => unhandled),
      [],
    );
    await cluster.stop();
    await proxy.stop();
  });

  it('[C79] a request whose answer is lost is applied once', async () => {
    let proxy!: RedisProxy;
    const cluster = await TestCluster.start({ via: () => proxy.url });
    proxy = await RedisProxy.start(cluster.server.port);
    await Promise.all([cluster.engine(), cluster.worker()]);
    const client = await cluster.openClient();
    for (const name of ['start', 'publish', 'stop']) proxy.loseReplies(new RegExp(name), 1);
    const load = await Load.start(client, 'lost', 3);
    proxy.loseReplies(/publish/, 3);
    await load.feed();
    await load.check(cluster);
    assert.ok(proxy.lost.length > 0);
    await cluster.stop();
    await proxy.stop();
  });

  it('[C61] every call fails with a typed error that can be caught, and nothing is left unhandled', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const common = { flows: clusterFlows, logger };
    const cluster = await TestCluster.start();
    const { client, close } = await openClient({ ...common, ...cluster.common }).then((opened) => ({
      client: opened.client,
      close: () => opened.close(),
    }));
    await cluster.server.kill();
    const options = { deadline: 300 };
    const calls = [
      client.start(CountFlow, 'a', { left: 0, pauseMs: 0 }, options),
      client.describe('a', options),
      client.result(CountFlow, 'a', options),
      client.stop('a', 'cancel', 'test', options),
      client.history('a', options),
    ];
    for (const call of await Promise.allSettled(calls)) {
      assert.ok(call.status === 'rejected' && call.reason instanceof HoldfastError, String(call));
      assert.equal(call.reason.code, 'REDIS_UNAVAILABLE');
    }
    close();
    await assert.rejects(openClient({ ...common, redis: `redis://127.0.0.1:${await freePort()}` }), {
      code: 'REDIS_UNAVAILABLE',
    });
    await cluster.stop();
    process.off('unhandledRejection', onUnhandled);
    assert.deepEqual(unhandled, []);
  });
});

async function destroyGroups({ server: { redis } }: TestCluster): Promise<void> {
  for (const key of await redis.keys('*')) {
    if (/:(steps|calls):/.test(key)) await redis.xgroup('DESTROY', key, 'workers');
  }
}
