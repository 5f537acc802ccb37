import assert from 'node:assert/strict';
import { TestCluster, type TestNode } from '../support/cluster';
import { CountFlow, GrowFlow } from '../support/cluster-flows';
import { eventually } from '../support/eventually';

describe('Versions of workers over one cluster', function () {
  this.timeout(180_000);
  let cluster: TestCluster;

  beforeEach(async () => {
    cluster = await TestCluster.start();
  });

  afterEach(() => cluster.stop());

  it('[V3][C74] a Step that old workers lack shows as blocked, and goes on when a new worker comes', async () => {
    await Promise.all([cluster.engine(), cluster.worker({}, [], { HOLDFAST_VERSION: '1' })]);
    const client = await cluster.openClient();
    await client.start(GrowFlow, 'grows', 7);
    await eventually(async () => assert.deepEqual((await client.describe('grows')).blocked, ['NewStep']));
    // The old worker is of use for everything else.
    await client.start(CountFlow, 'beside', { left: 3, pauseMs: 0 });
    assert.equal(await client.result(CountFlow, 'beside'), 6);
    await cluster.worker();
    assert.equal(await client.result(GrowFlow, 'grows'), 7);
    assert.deepEqual(await cluster.effects('new', 'grows'), ['new grows 7']);
    assert.deepEqual((await client.describe('grows')).blocked, []);
    const history = await client.history('grows');
    assert.equal(history.filter(({ kind }) => kind === 'AttemptStarted').length, 1, 'it cost no attempt');
  });

  it('[X12] Flows whose worker is not there wait, and a rolling restart under load loses nothing', async () => {
    let workers: TestNode[] = await Promise.all([cluster.worker(), cluster.worker()]);
    let engines: TestNode[] = await Promise.all([cluster.engine(), cluster.engine()]);
    const client = await cluster.openClient();
    const ids = Array.from({ length: 40 }, (_, i) => `rolling-${i}`);
    await Promise.all(ids.map((id) => client.start(CountFlow, id, { left: 30, pauseMs: 20 })));
    for (let i = 0; i < 2; i++) {
      const [engine, worker] = await Promise.all([cluster.engine(), cluster.worker()]);
      assert.deepEqual(await Promise.all([engines[0]!.stop(), workers[0]!.stop()]), [0, 0]);
      engines = [...engines.slice(1), engine];
      workers = [...workers.slice(1), worker];
    }
    for (const id of ids) assert.equal(await client.result(CountFlow, id), 465);
    for (const id of ids) assert.equal((await cluster.effects('count', id)).length, 31, id);
  });
});
