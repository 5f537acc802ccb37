import assert from 'node:assert/strict';
import { join } from 'node:path';
import { randomFrom } from '../faults/random';
import { TestCluster } from '../support/cluster';
import { eventually } from '../support/eventually';
import { S3Server, s3Environment } from '../support/s3-server';
import { Epochs, emptyTally } from './check-calls';
import { checkFlow } from './check-round';
import { type Damage, faults, losesWorker, Machines } from './faults';
import { Load } from './load';
import { Outside } from './outside';

/** `npm run rounds` plays 200; `ROUNDS_STORE=s3` keeps the state on an S3-compatible server. */
const rounds = Number(process.env.ROUNDS ?? faults.length);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const onS3 = process.env.ROUNDS_STORE === 's3';

describe(`Rounds of real faults (ROUNDS=${rounds} SEED=${seed})`, function () {
  this.timeout(120_000 + rounds * 60_000);
  const random = randomFrom(seed);
  let server: S3Server | undefined;
  let cluster: TestCluster;
  let outside: Outside;

  before(async () => {
    if (onS3) server = await S3Server.start();
    const store = server && {
      url: 's3://holdfast/rounds',
      environment: s3Environment(`http://127.0.0.1:${server.port}`),
    };
    cluster = await TestCluster.start({ lease: '2s', flows: join(__dirname, 'flows.ts'), ...(store && { store }) });
    outside = new Outside(cluster.effectsFile);
  });

  after(async () => {
    outside?.close();
    await cluster?.stop();
    await server?.stop();
  });

  it('[P6] [S5] [S10] [X2] [X4] [X8] [X9] [X10] [L3] [C1] counters outside the system agree with the contract', async () => {
    const machines = await Machines.start(cluster, outside, random);
    const client = await cluster.openClient();
    const tally = emptyTally();
    const epochs = new Epochs();
    const played = new Map<string, number>();
    let deck: Damage['fault'][] = [];
    for (let round = 1; round <= rounds; round++) {
      if (deck.length === 0) deck = shuffled(faults, random);
      const fault = deck.pop()!;
      outside.forget();
      const began = Date.now();
      const name = `r${round}`;
      try {
        const [damage, { load, ended }] = await Promise.all([
          machines.suffer(fault, random() * 2_200),
          Load.begin(client, name),
        ]);
        await ended;
        // Bodies of a worker that was taken for dead run on to their ends.
        if (!damage.killed) await eventually(() => outside.open(damage.victim).length === 0, 30_000);
        const lines = outside.read().filter(({ flowId }) => flowId.startsWith(`${name}-`));
        const histories = await Promise.all(load.flows.map(({ flowId }) => client.history(flowId)));
        const reopened = epochs.opened(histories);
        tally.reopened += reopened;
        const seen = { ...damage, reopened };
        await Promise.all(load.flows.map((told, i) => checkFlow(client, told, seen, histories[i]!, lines, tally)));
      } catch (error) {
        throw new Error(`Round ${round} of seed ${seed}, ${fault}: ${(error as Error).message}`, { cause: error });
      }
      played.set(fault, (played.get(fault) ?? 0) + 1);
      if (rounds > faults.length) console.log(`      ${round}: ${fault}, ${Date.now() - began} ms`);
    }
    assert.deepEqual(
      [...cluster.nodes].flatMap((node) => node.unhandled),
      [],
    );
    if ([...played.keys()].some((fault) => losesWorker({ fault } as Damage)))
      assert.ok(tally.lost > 0, 'no fault hit anything');
    console.log(`      ${JSON.stringify({ ...Object.fromEntries(played), ...tally })}`);
  });
});

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const all = [...values];
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  return all;
}
