import assert from 'node:assert/strict';
import { HoldfastError } from '../../index';
import { TestCluster } from '../support/cluster';
import { CollectFlow, CountFlow, Orders } from '../support/cluster-flows';
import { Load } from '../support/cluster-load';
import { eventually } from '../support/eventually';

describe('Redis without memory to spare', function () {
  this.timeout(240_000);

  it('[C52][P9] full: every call is done or refused with a typed error, nothing accepted is lost, and all goes on', async () => {
    const cluster = await TestCluster.start();
    const nodes = await Promise.all([cluster.engine(), cluster.worker()]);
    const client = await cluster.openClient();
    const { redis } = cluster.server;
    await client.start(CollectFlow, 'collect', 1_000_000);
    await redis.set('ballast', Buffer.alloc(4 * 1024 * 1024));
    const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);
    await redis.config('SET', 'maxmemory', used - 1024 * 1024);
    const starts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        client.start(CountFlow, `full-${i}`, { left: 3, pauseMs: 0 }, { deadline: '3s' }),
      ),
    );
    const published = await Promise.allSettled(
      Array.from({ length: 500 }, (_, n) => client.publish(CollectFlow, 'collect', Orders, n, { deadline: '3s' })),
    );
    const refused = [...starts, ...published].filter((result) => result.status === 'rejected');
    assert.ok(refused.length > 0);
    for (const { reason } of refused) {
      assert.ok(reason instanceof HoldfastError && reason.kind === 'transient', String(reason));
      assert.equal(reason.code, 'REDIS_FULL');
    }
    const late = await cluster.worker();
    await redis.config('SET', 'maxmemory', '64mb');
    await redis.del('ballast');
    for (const [i, start] of starts.entries()) {
      if (start.status === 'rejected') await client.start(CountFlow, `full-${i}`, { left: 3, pauseMs: 0 });
      assert.equal(await client.result(CountFlow, `full-${i}`), 6);
    }
    const accepted = published.filter(({ status }) => status === 'fulfilled').length;
    await client.publish(CollectFlow, 'collect', Orders, -1);
    await eventually(
      async () => assert.equal((await cluster.effects('order', 'collect')).length, accepted + 1),
      30_000,
    );
    for (const node of [...nodes, late]) assert.ok(node.isAlive);
    await cluster.stop();
  });

  it('[C53] keys that are evicted are found again, and nothing is doubled', async () => {
    const cluster = await TestCluster.start({
      redis: { args: ['--maxmemory-policy', 'allkeys-lru'] },
      allowEviction: true,
    });
    await Promise.all([cluster.engine(), cluster.worker(), cluster.worker()]);
    const client = await cluster.openClient();
    const load = await Load.start(client, 'evicted', 8);
    const { redis } = cluster.server;
    for (let round = 0; round < 6; round++) {
      const keys = await redis.keys('*');
      for (const [i, key] of keys.entries()) if (i % 3 === round % 3) await redis.del(key);
      const next = Date.now() + 300;
      await eventually(() => Date.now() > next);
    }
    await load.feed();
    await load.check(cluster);
    await cluster.stop();
  });

  it('[C44] large values pass through Redis and leave it', async () => {
    const cluster = await TestCluster.start();
    await Promise.all([cluster.engine(), cluster.worker()]);
    const client = await cluster.openClient();
    const bytes = async () => Number(/used_memory:(\d+)/.exec(await cluster.server.redis.info('memory'))![1]);
    await client.start(CountFlow, 'warm', { left: 1, pauseMs: 0 });
    await client.result(CountFlow, 'warm');
    const base = await bytes();
    await client.start(CollectFlow, 'large', 10);
    for (let n = 0; n < 10; n++) {
      await client.publish(CollectFlow, 'large', Orders, Buffer.alloc(3 * 1024 * 1024, n) as unknown as number);
    }
    assert.equal(await client.result(CollectFlow, 'large'), 10);
    await eventually(async () => {
      const more = (await bytes()) - base;
      assert.ok(more < 4 * 1024 * 1024, `${more} bytes are left`);
    }, 60_000);
    await cluster.stop();
  });
});
