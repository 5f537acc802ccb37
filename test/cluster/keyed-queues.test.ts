import assert from 'node:assert/strict';
import type { Client } from '../../index';
import { TestCluster, type TestNode } from '../support/cluster';
import { GrowHoldFlow, HoldFlow } from '../support/cluster-flows';
import { eventually } from '../support/eventually';

describe('Concurrency by key, over several engines', function () {
  this.timeout(240_000);
  let cluster: TestCluster;
  let client: Client;
  let worker: TestNode;

  beforeEach(async () => {
    cluster = await TestCluster.start({ taskQueues: { keyed: { concurrencyByKey: { key: 'key', limit: 1 } } } });
    const nodes = await Promise.all([
      cluster.engine(),
      cluster.engine(),
      cluster.worker({ grace: 0 }, [], { HOLDFAST_VERSION: '1' }),
    ]);
    worker = nodes[2];
    client = await cluster.openClient();
  });

  afterEach(() => cluster.stop());

  const begun = async (key: string, flowId: string) =>
    (await cluster.effects('hold', key, 'begins', flowId)).length > 0;

  /** The most that ran at a time, as handlers said themselves. */
  async function mostOf(key: string): Promise<number> {
    let running = 0;
    let most = 0;
    for (const line of await cluster.effects('hold', key)) {
      running += line.split(' ')[2] === 'begins' ? 1 : -1;
      most = Math.max(most, running);
    }
    return most;
  }

  it('[T1] no more than the limit run under one key, and other keys go on meanwhile', async () => {
    const ids = Array.from({ length: 36 }, (_, i) => `hold-${i}`);
    await Promise.all(ids.map((id, i) => client.start(HoldFlow, id, { key: `k${i % 3}`, ms: 40 })));
    for (const id of ids) assert.equal(await client.result(HoldFlow, id), 1);
    for (const key of ['k0', 'k1', 'k2']) assert.equal(await mostOf(key), 1, key);
  });

  it('[T2][C83] a slot is given back at every end, and by whoever cannot go on', async () => {
    const long = { ms: 60_000 };
    const ends: [string, { ms: number; fails?: boolean }, (id: string) => Promise<unknown>][] = [
      ['success', { ms: 1_500 }, (id) => client.result(HoldFlow, id)],
      ['failure', { ms: 1_500, fails: true }, (id) => client.result(HoldFlow, id, { throwOnFailure: false })],
      ['cancelled', long, (id) => client.stop(id, 'cancel', 'test')],
      ['terminated', long, (id) => client.stop(id, 'terminate', 'test')],
      ['timed out', long, (id) => client.result(HoldFlow, id, { throwOnFailure: false })],
    ];
    await Promise.all(
      ends.map(async ([key, how, end]) => {
        await client.start(HoldFlow, `${key}-first`, { key, ...how });
        await eventually(() => begun(key, `${key}-first`));
        await client.start(HoldFlow, `${key}-queued`, { key, ms: 10 });
        await client.start(HoldFlow, `${key}-second`, { key, ms: 10 });
        // One that waits goes, and leaves no trace.
        await client.stop(`${key}-queued`, 'cancel', 'test');
        await end(`${key}-first`);
        await eventually(() => begun(key, `${key}-second`), 20_000);
        await client.result(HoldFlow, `${key}-second`);
        assert.equal(await begun(key, `${key}-queued`), false, key);
      }),
    );
    for (const key of ['success', 'failure']) assert.equal(await mostOf(key), 1, key);
    // No worker has its Step.
    await client.start(GrowHoldFlow, 'lacking-first', { key: 'lacking', ms: 0 });
    await eventually(async () => assert.deepEqual((await client.describe('lacking-first')).blocked, ['NewHoldStep']));
    await client.start(HoldFlow, 'lacking-second', { key: 'lacking', ms: 10 });
    assert.equal(await client.result(HoldFlow, 'lacking-second'), 1);
    assert.equal((await client.describe('lacking-first')).status, 'running');
  });

  it('[T2][C83] after the death of a worker or an engine, and after a loss of Redis', async () => {
    await client.start(HoldFlow, 'killed', { key: 'a', ms: 2_500 });
    await eventually(() => begun('a', 'killed'));
    await worker.kill();
    await client.start(HoldFlow, 'after', { key: 'a', ms: 10 });
    await cluster.worker({ grace: 0 });
    assert.equal(await client.result(HoldFlow, 'after'), 1);
    assert.equal(await client.result(HoldFlow, 'killed'), 2);
    // The attempt goes on while its engine dies: its slot stays taken.
    await client.start(HoldFlow, 'goes on', { key: 'b', ms: 2_000 });
    await eventually(() => begun('b', 'goes'));
    for (const node of [...cluster.nodes].slice(0, 2)) await node.kill();
    await cluster.engine();
    await client.start(HoldFlow, 'waits', { key: 'b', ms: 10 });
    assert.equal(await client.result(HoldFlow, 'waits'), 1);
    assert.equal(await mostOf('b'), 1);
    await client.start(HoldFlow, 'flushed', { key: 'c', ms: 300 });
    await client.start(HoldFlow, 'then', { key: 'c', ms: 10 });
    await cluster.server.redis.flushall();
    assert.equal(await client.result(HoldFlow, 'flushed'), 1);
    assert.equal(await client.result(HoldFlow, 'then'), 1);
    await eventually(async () => assert.deepEqual(await cluster.server.redis.keys('*slots*'), []), 40_000);
  });
});
