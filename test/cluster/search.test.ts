import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { attribute, type Client } from '../../index';
import { openIndex } from '../../lib/search/open-index';
import { TestCluster } from '../support/cluster';
import { eventually } from '../support/eventually';
import { PostgresServer } from '../support/postgres-server';
import { End, Stage, TurningFlow, Turns } from '../support/search-flows';

const run = promisify(execFile);

describe('Search over Redis and PostgreSQL', function () {
  this.timeout(180_000);
  let postgres: PostgresServer;
  let cluster: TestCluster;
  let client: Client;

  before(async () => {
    postgres = await PostgresServer.start();
    cluster = await TestCluster.start({ flows: require.resolve('../support/search-flows'), index: postgres.url });
  });
  after(async () => {
    await cluster?.stop();
    await postgres?.stop();
  });

  /** That the index shows what the owners know, of all Flows. */
  async function agrees(expected: number): Promise<void> {
    const seen: string[] = [];
    for await (const entry of client.listAll({ limit: 50 }, { fresh: true })) {
      seen.push(entry.flowId);
      const { status, closedAt } = await client.describe(entry.flowId);
      assert.deepEqual([entry.status, entry.closedAt], [status, closedAt], entry.flowId);
      const values = await client.attributes(TurningFlow, entry.flowId);
      assert.equal(entry.attributes.Turns, values.get(Turns), entry.flowId);
      assert.equal(entry.attributes.Stage, values.get(Stage), entry.flowId);
    }
    assert.equal(seen.length, expected);
    assert.equal(new Set(seen).size, expected);
  }

  it('[A4] [P5] [P6] follows a cluster whose engines are killed and stopped, and a database that goes away', async () => {
    const [first] = await Promise.all([cluster.engine(), cluster.worker()]);
    client = await cluster.openClient();
    const start = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, (_, i) => client.start(TurningFlow, `t${from + i}`, 4)));
    await start(0, 20);
    const second = await cluster.engine();
    await start(20, 40);
    await first.kill();
    await start(40, 60);
    await eventually(async () => assert.equal((await second.ask()).shards.length, 4), 30_000);
    await eventually(() => agrees(60), 30_000);

    // An engine that stands still while another feeds its shards, and then goes on.
    const third = await cluster.engine();
    await eventually(async () => assert.equal((await third.ask()).shards.length, 2), 30_000);
    const ending = Array.from({ length: 30 }, (_, i) => client.publish(TurningFlow, `t${i}`, End, true));
    third.signal('SIGSTOP');
    await Promise.all(ending);
    await eventually(async () => assert.equal((await second.ask()).shards.length, 4), 30_000);
    third.signal('SIGCONT');
    await Promise.all(Array.from({ length: 30 }, (_, i) => client.result(TurningFlow, `t${i}`)));

    await postgres.kill();
    await start(60, 70);
    await Promise.all(Array.from({ length: 10 }, (_, i) => client.publish(TurningFlow, `t${30 + i}`, End, true)));
    await assert.rejects(client.list(), { code: 'INDEX_UNAVAILABLE' });
    await postgres.run();
    await eventually(() => agrees(70), 60_000);
    const { flows } = await client.list({ where: [attribute(Stage).equals('ended')] });
    assert.equal(flows.length, 40);
    await first.kill();
  });

  it('[A4] is written anew by the command line, and is then what it was', async () => {
    const index = await openIndex(postgres.url);
    const all = { filters: [], orderBy: 'flowId', descending: false, after: null, limit: 1_000 } as const;
    const rows = async () => (await index.list(all)).map(({ events, ...row }) => row);
    const before = await rows();
    await postgres.query(`DELETE FROM holdfast_index_runs WHERE flow_id IN ('t1', 't2')`);
    await postgres.query(`UPDATE holdfast_index_runs SET status = 'failed' WHERE flow_id = 't65'`);
    await postgres.query(`DELETE FROM holdfast_index_terms WHERE text_term = 'ended'`);
    const main = join(__dirname, '../../lib/cli/main.ts');
    const register = join(__dirname, '../support/register.cjs');
    const holdfast = (...args: string[]) =>
      run(process.execPath, ['-r', register, main, 'index', ...args, '--redis', cluster.server.url, '--shards', '4']);
    const { stdout } = await holdfast('rebuild');
    assert.equal(stdout.trim().split('\n').length, 4);
    assert.deepEqual(await rows(), before);
    assert.equal((await client.list({ where: [attribute(Stage).equals('ended')] })).flows.length, 40);
    assert.match(
      (await holdfast('state')).stdout,
      /shard 0 {2}0 pending, 0 ms behind {2}postgres:\/\/127\.0\.0\.1:\d+\/postgres takes what comes/,
    );
    await index.close();
    // A DROP is noticed when next it is written to, and everything comes back by itself.
    await postgres.query('DROP TABLE holdfast_index_shards, holdfast_index_runs, holdfast_index_terms');
    for (let i = 100; i < 110; i++) await client.start(TurningFlow, `t${i}`, 1);
    await eventually(() => agrees(80), 30_000);
  });
});
