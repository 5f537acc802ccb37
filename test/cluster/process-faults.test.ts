import assert from 'node:assert/strict';
import { TestCluster, type TestNode } from '../support/cluster';
import { BusyFlow, CountFlow, DrainFlow, ForkFlow, Orders, RaceFlow } from '../support/cluster-flows';
import { Load } from '../support/cluster-load';
import { eventually } from '../support/eventually';

describe('Processes die, stop and stand still', function () {
  this.timeout(240_000);
  let cluster: TestCluster;

  beforeEach(async () => {
    cluster = await TestCluster.start();
  });

  afterEach(async () => {
    const unhandled = [...cluster.nodes].flatMap((node) => node.unhandled);
    await cluster.stop();
    assert.deepEqual(unhandled, []);
  });

  it('[C01][X11] of a worker that was too busy to be heard nothing counts, and its neighbour Steps come to no harm', async () => {
    await Promise.all([cluster.engine(), cluster.worker({ slots: 2 }), cluster.worker({ slots: 2 })]);
    const client = await cluster.openClient();
    await client.start(BusyFlow, 'blocks', { ms: 5_000, times: 2, blocks: true });
    await client.start(BusyFlow, 'beside', { ms: 50, times: 1, blocks: false });
    assert.equal(await client.result(BusyFlow, 'blocks'), 2);
    await client.result(BusyFlow, 'beside');
    const history = await client.history('blocks');
    assert.equal(history.filter(({ kind }) => kind === 'ExecuteCompleted').length, 1);
    assert.equal(history.filter(({ kind }) => kind === 'AttemptFailed').length, 1);
  });

  it('[X6] a worker whose questions no engine answers ends when it is told to', async () => {
    const worker = await cluster.worker();
    worker.signal('SIGTERM');
    await eventually(() => !worker.isAlive, 20_000);
  });

  it('[C03] one history comes out when owners die while a message and a timer race', async () => {
    let [engine] = await Promise.all([cluster.engine(), cluster.worker()]);
    const client = await cluster.openClient();
    for (let round = 0; round < 4; round++) {
      const id = `race-${round}`;
      await client.start(RaceFlow, id, 1_500);
      await eventually(async () => {
        const { steps, status } = await client.describe(id);
        assert.ok(steps[0]?.state === 'waiting' || status !== 'running');
      });
      await engine.kill();
      const recoverers = Promise.all([cluster.engine(), cluster.engine(), cluster.engine()]);
      const published = client.publish(RaceFlow, id, Orders, round).then(
        () => true,
        (error: { code: string }) => {
          assert.equal(error.code, 'FLOW_NOT_ACTIVE');
          return false;
        },
      );
      const how = await client.result(RaceFlow, id);
      const unread = (await client.describe(id)).unread.length;
      if (await published) assert.equal(unread, how === 'timer' ? 1 : 0);
      else assert.equal(how, 'timer');
      assert.deepEqual(await cluster.effects('race', id), [`race ${id} ${how}`]);
      const others = await recoverers;
      engine = others[0];
      await Promise.all([others[1].stop(), others[2].stop()]);
    }
  });

  it('[C04] a finished sibling never has a running one dispatched again', async () => {
    await Promise.all([cluster.engine(), cluster.worker()]);
    const client = await cluster.openClient();
    const ids = Array.from({ length: 10 }, (_, i) => `fork-${i}`);
    await Promise.all(
      ids.map((id, i) => client.start(ForkFlow, id, 1_500, { durability: i % 2 === 0 ? 'SYNC' : 'ASYNC' })),
    );
    for (const id of ids) {
      assert.equal(await client.result(ForkFlow, id), 'long');
      assert.deepEqual(await cluster.effects('long', id), [`long ${id} 1`]);
      assert.equal((await cluster.effects('quick', id)).length, 3);
    }
  });

  it('[C08][X5] what a stopped worker had read and not run goes to others', async () => {
    const [, paused] = await Promise.all([cluster.engine(), cluster.worker({ slots: 50 })]);
    const client = await cluster.openClient();
    const start = (from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, i) =>
          client.start(CountFlow, `kept-${from + i}`, { left: 0, pauseMs: 100 }),
        ),
      );
    await start(0, 50);
    paused.signal('SIGSTOP');
    await start(50, 1_050);
    await cluster.worker({ slots: 50 });
    await eventually(async () => assert.ok((await cluster.effects('count')).length >= 1_000), 60_000);
    paused.signal('SIGCONT');
    assert.equal(await paused.stop(), 0);
    for (let i = 0; i < 1_050; i++) assert.equal(await client.result(CountFlow, `kept-${i}`), 0);
    for (const key of await cluster.server.redis.keys('*steps:*')) {
      await eventually(async () => assert.equal(await cluster.server.redis.xlen(key), 0), 20_000);
    }
  });

  it('[C58][X6] a worker that is told to go finishes what it can, and gives the rest back without using an attempt', async () => {
    const [, first] = await Promise.all([cluster.engine(), cluster.worker({ grace: '20s' })]);
    const client = await cluster.openClient();
    await client.start(DrainFlow, 'drained', 3);
    await eventually(async () => assert.equal((await cluster.effects('drain', 'drained')).length, 1));
    assert.equal(await first.stop(), 0);
    assert.equal(await client.result(DrainFlow, 'drained'), 1);
    let worker = await cluster.worker({ grace: 200 });
    const begun = async () => (await cluster.effects('drain', 'handed')).filter((line) => line.includes('from'));
    await client.start(DrainFlow, 'handed', 10);
    for (let rollout = 1; rollout <= 3; rollout++) {
      await eventually(async () => assert.equal((await begun()).length, rollout));
      // Far enough for progress to be kept.
      const reached = Date.now() + 500;
      await eventually(() => Date.now() > reached);
      const next = cluster.worker({ grace: 200 });
      assert.equal(await worker.stop(), 0);
      worker = await next;
    }
    assert.equal(await client.result(DrainFlow, 'handed'), 1, 'no attempt was used');
    const froms = (await begun()).map((line) => Number(line.split(' ').at(-1)));
    assert.ok(froms.at(-1)! > froms[0]!, `it goes on where it was: ${froms}`);
  });

  it('[P5] an engine that stood still for longer than its lease saves and tells nothing more', async () => {
    const [first] = await Promise.all([cluster.engine(), cluster.worker(), cluster.worker()]);
    const client = await cluster.openClient();
    const load = await Load.start(client, 'still', 6);
    first.signal('SIGSTOP');
    const second = await cluster.engine();
    await eventually(async () => assert.equal((await second.ask()).shards.length, 4), 20_000);
    await load.feed();
    first.signal('SIGCONT');
    await load.check(cluster);
    await eventually(async () => {
      const [a, b] = await Promise.all([first.ask(), second.ask()]);
      assert.deepEqual([...a.shards, ...b.shards].sort(), [0, 1, 2, 3]);
      assert.ok(a.shards.length > 0 && b.shards.length > 0);
    }, 60_000);
  });

  it('[C60][P6] first start of everything at once, with one killed half-way; then kills at random under load', async () => {
    const starting: Promise<TestNode>[] = [];
    for (let i = 0; i < 3; i++) starting.push(cluster.engine(), cluster.worker());
    for (let i = 0; i < 2; i++) starting.push(cluster.worker());
    const nodes = await Promise.all(starting);
    const client = await cluster.openClient();
    const load = await Load.start(client, 'killed', 8);
    await nodes[0]!.kill();
    await load.feed();
    await nodes[1]!.kill();
    const [engine] = await Promise.all([cluster.engine(), cluster.worker()]);
    await nodes[2]!.kill();
    await engine.stop();
    await load.check(cluster, false);
    for (let i = 0; i < 8; i++) {
      // Consumed once and applied once, though the bodies of a killed worker may have run twice.
      const history = await client.history(`killed-collect-${i}`);
      assert.equal(history.filter(({ kind }) => kind === 'ExecuteCompleted').length, 3);
    }
  });
});
