import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Client } from '../../index';
import { type ClusterOptions, openClient, openEngine, openWorker } from '../../lib/cluster';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { CountFlow, clusterFlows, HoldFlow, Orders, RaceFlow } from '../support/cluster-flows';
import { eventually } from '../support/eventually';
import { freePort } from '../support/redis-server';
import { ClusterRedis, SentinelRedis, TlsRedis } from '../support/redis-topologies';

const ignore = () => {};
let warned: string[] = [];
const logger = { debug: ignore, info: ignore, warn: (what: string) => warned.push(what), error: ignore };

/** An engine, a worker and a client over a Redis; `run` gives Flows to them. */
async function system(redis: ClusterOptions['redis'], namespace = 'topology') {
  const common = { redis, namespace, shards: 4, logger, signals: false, flows: clusterFlows };
  const taskQueues = { keyed: { concurrency: 2, concurrencyByKey: { key: 'key', limit: 1 } } };
  const engine = await openEngine({ ...common, store: new MemoryStateStore(), taskQueues });
  const worker = await openWorker({ ...common, grace: 0 });
  const client = await openClient(common);
  return {
    engine,
    client: client.client,
    processes: [engine, worker, client],
    close: async () => {
      client.close();
      await worker.close();
      await engine.close();
    },
  };
}

/** Steps, messages, timers and a task queue with a policy. */
async function works(client: Client, name: string): Promise<void> {
  await Promise.all([
    client.start(CountFlow, `${name}-count`, { left: 5, pauseMs: 0 }),
    client.start(RaceFlow, `${name}-timer`, 200),
    client.start(RaceFlow, `${name}-message`, 600_000),
    client.start(HoldFlow, `${name}-held`, { key: name, ms: 10 }),
  ]);
  await client.publish(RaceFlow, `${name}-message`, Orders, 7);
  assert.equal(await client.result(CountFlow, `${name}-count`), 15);
  assert.equal(await client.result(RaceFlow, `${name}-timer`), 'timer');
  assert.equal(await client.result(RaceFlow, `${name}-message`), 'order 7');
  await client.result(HoldFlow, `${name}-held`);
}

describe('Ways to a Redis', function () {
  this.timeout(120_000);

  beforeEach(() => {
    warned = [];
  });

  it('TLS, with a user and a password; without them nobody gets in, and is told so', async () => {
    const redis = await TlsRedis.start(await freePort());
    const ca = readFileSync(redis.certificate);
    const { username, password } = TlsRedis;
    const address = { host: '127.0.0.1', port: redis.port, tls: { ca }, username, password };
    const { client, close } = await system(address);
    await works(client, 'tls');
    await close();
    const common = { flows: clusterFlows, logger };
    const wrong = openClient({ ...common, redis: { ...address, password: 'another' } });
    const untrusted = openClient({ ...common, redis: { ...address, tls: {} } });
    await Promise.all([
      assert.rejects(wrong, { code: 'REDIS_UNAVAILABLE', message: /WRONGPASS/ }),
      assert.rejects(untrusted, { code: 'REDIS_UNAVAILABLE', message: /self.signed/ }),
    ]);
    await redis.stop();
  });

  it('[P6] Sentinel: a failover to a replica that lacks the last writes loses nothing', async () => {
    const redis = await SentinelRedis.start();
    const { client, processes, close } = await system(redis.address);
    await works(client, 'before');
    // What is sent from here on the replica never gets.
    redis.replica.signal('SIGSTOP');
    await client.start(RaceFlow, 'kept', 600_000);
    await client.start(CountFlow, 'kept-count', { left: 20, pauseMs: 50 });
    await client.start(RaceFlow, 'kept-timer', 2_000);
    await redis.primary.kill();
    redis.replica.signal('SIGCONT');
    await client.publish(RaceFlow, 'kept', Orders, 1);
    assert.equal(await redis.primaryPort(), redis.replica.port);
    assert.equal(await client.result(RaceFlow, 'kept'), 'order 1');
    assert.equal(await client.result(CountFlow, 'kept-count'), 210);
    assert.equal(await client.result(RaceFlow, 'kept-timer'), 'timer');
    await works(client, 'after');
    await eventually(() => processes.every(({ isHealthy }) => isHealthy));
    await close();
    await redis.stop();
  });

  it('[P6] Sentinel: one that lets itself be asked and never answers keeps nobody from the primary', async () => {
    const redis = await SentinelRedis.start(2);
    const { client, processes, close } = await system(redis.address);
    await works(client, 'before');
    redis.sentinels[0]!.signal('SIGSTOP');
    // A connection asks another Sentinel each time.
    for (const time of ['first', 'second']) {
      await redis.primary.redis.client('KILL', 'TYPE', 'normal');
      await client.start(RaceFlow, time, 0, { deadline: '60s' });
      await eventually(() => processes.every(({ isHealthy }) => isHealthy), 60_000);
    }
    await works(client, 'after');
    await close();
    await redis.stop();
  });

  it('[C50] Redis Cluster: all of a namespace is on one node, and goes on when its slot moves (MOVED, ASK)', async () => {
    const redis = await ClusterRedis.start();
    const address = { cluster: redis.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) };
    const { client, engine, processes, close } = await system(address);
    await works(client, 'before');
    const owner = await redis.ownerOf('{holdfast:topology}:shards');
    for (const node of redis.nodes) assert.equal((await node.redis.keys('*')).length > 0, node === owner);
    await client.start(RaceFlow, 'kept', 600_000);
    await client.start(CountFlow, 'kept-count', { left: 20, pauseMs: 50 });
    // It has looked at the server twice, which must have been the same.
    const looked = Date.now() + 6_000;
    await eventually(() => Date.now() > looked);
    assert.deepEqual(warned, []);
    await redis.move('{holdfast:topology}:shards');
    assert.notEqual(await redis.ownerOf('{holdfast:topology}:shards'), owner);
    await client.publish(RaceFlow, 'kept', Orders, 1);
    assert.equal(await client.result(RaceFlow, 'kept'), 'order 1');
    assert.equal(await client.result(CountFlow, 'kept-count'), 210);
    await works(client, 'after');
    assert.equal(engine.shards.length, 4);
    await eventually(() => processes.every(({ isHealthy }) => isHealthy));
    await close();
    await redis.stop();
  });
});
