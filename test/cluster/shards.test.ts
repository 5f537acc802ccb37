import assert from 'node:assert/strict';
import { TestCluster } from '../support/cluster';
import { CollectFlow, CountFlow, Orders, PayFlow } from '../support/cluster-flows';
import { eventually } from '../support/eventually';

describe('Engines and workers in processes of their own', function () {
  this.timeout(180_000);
  let cluster: TestCluster;

  beforeEach(async () => {
    cluster = await TestCluster.start({ shards: 6 });
  });

  afterEach(() => cluster.stop());

  it('[P2][R3] run Steps, messages, locks, RPCs and Queries as one process does', async () => {
    const [engine] = await Promise.all([cluster.engine(), cluster.worker(), cluster.worker()]);
    await eventually(async () => assert.deepEqual((await engine.ask()).shards, [0, 1, 2, 3, 4, 5]));
    const client = await cluster.openClient();
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.start(CountFlow, `count-${i}`, { left: 5, pauseMs: 0 })),
    );
    await client.start(CollectFlow, 'collect', 10);
    await client.start(PayFlow, 'pay', 20);
    for (let n = 0; n < 10; n++) await client.publish(CollectFlow, 'collect', Orders, n);
    for (let i = 0; i < 20; i++) assert.equal(await client.result(CountFlow, `count-${i}`), 15);
    assert.equal(await client.result(CollectFlow, 'collect'), 10);
    assert.deepEqual(
      await cluster.effects('order', 'collect'),
      Array.from({ length: 10 }, (_, n) => `order collect ${n}`),
    );
    assert.equal((await client.outputs(PayFlow, 'pay')).length, 20);
    assert.equal(await client.rpc(PayFlow, 'pay').paid(), 210);
    await client.start(CollectFlow, 'rpc', 1_000);
    const sums = await Promise.all(Array.from({ length: 20 }, () => client.rpc(CollectFlow, 'rpc').add(1)));
    assert.deepEqual(
      [...sums].sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
  });

  it('[X10] share the shards, hand them over on a clean stop and take them over after a kill', async () => {
    const [first, second] = await Promise.all([cluster.engine(), cluster.engine()]);
    await cluster.worker();
    const client = await cluster.openClient();
    await eventually(async () => {
      const [a, b] = await Promise.all([first.ask(), second.ask()]);
      assert.equal(a.shards.length, 3);
      assert.deepEqual([...a.shards, ...b.shards].sort(), [0, 1, 2, 3, 4, 5]);
    });
    const counts = Array.from({ length: 30 }, (_, i) => `count-${i}`);
    await Promise.all(counts.map((id) => client.start(CountFlow, id, { left: 20, pauseMs: 10 })));
    await first.kill();
    await eventually(async () => assert.equal((await second.ask()).shards.length, 6), 20_000);
    const third = await cluster.engine();
    await eventually(async () => assert.equal((await third.ask()).shards.length, 3), 20_000);
    assert.equal(await second.stop(), 0);
    await eventually(async () => assert.equal((await third.ask()).shards.length, 6), 20_000);
    for (const id of counts) assert.equal(await client.result(CountFlow, id), 210);
    for (const id of counts) {
      const effects = await cluster.effects('count', id);
      assert.equal(effects.length, 21, `${id}: a living worker's attempts went on: ${effects}`);
    }
  });
});
