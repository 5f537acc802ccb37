import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Holdfast } from '../../index';
import type { Entry } from '../../samples/order/ledger';
import { OrderFlow } from '../../samples/order/order-flow';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';
import { checkLoad } from './check-load';
import { runAndKill } from './child';
import { compiledProject } from './compiled';
import { loadOf } from './load-flow';
import { randomFrom } from './random';

/** How often each program is killed on each store; `npm run faults` does it 50 times. */
const kills = Number(process.env.KILLS ?? 4);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

describe(`kill -9 at random moments (KILLS=${kills} SEED=${seed})`, function () {
  this.timeout(60_000 + kills * 20_000);
  const random = randomFrom(seed);
  let project: string;
  let folder: TemporaryFolder;

  before(() => {
    project = compiledProject();
  });
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder.remove());

  for (const scheme of ['file', 'lmdb']) {
    it(`[P6] ${scheme}: a load of parallel Steps, timers and messages ends as if nothing had happened`, async () => {
      const store = `${scheme}:${join(folder.path, 'state')}`;
      const program = join(project, 'test/faults/load.js');
      const perRound = 200;
      let flows = perRound;
      let left = kills;
      for (;;) {
        // Some die while they open the store, most while they work.
        const early = random() < 0.2;
        const delayMs = left === 0 ? null : Math.floor(random() * (early ? 600 : 1_200));
        const { killed } = await runAndKill(
          [program, store, folder.path, `${flows}`],
          {},
          early ? null : 'open',
          delayMs,
        );
        if (killed) left--;
        else if (left > 0) flows += perRound;
        else break;
      }
      await checkLoad(store, folder.path, flows, loadOf);
      console.log(`      ${kills} kills, ${flows} flows`);
    });

    it(`[P6] ${scheme}: an order charges once and ships once`, async () => {
      const store = `${scheme}:${join(folder.path, 'state')}`;
      const program = join(project, 'samples/order/main.js');
      const environment = { HOLDFAST_DIR: folder.path, HOLDFAST_STORE: store, SLOW_MS: '300' };
      let left = kills;
      let resumed = 0;
      for (;;) {
        const delayMs = left === 0 ? null : Math.floor(random() * 1_500);
        const { killed, output } = await runAndKill([program], environment, 'order-', delayMs);
        if (output.includes('it goes on where it was')) resumed++;
        if (killed) left--;
        else if (left === 0) break;
      }
      const orders = await checkOrders(store);
      const ledger = readFileSync(join(folder.path, 'order-ledger.jsonl'), 'utf8').split('\n').filter(Boolean);
      const effects = ledger
        .map((line) => JSON.parse(line) as Entry)
        .map(({ orderId, effect }) => `${orderId} ${effect}`);
      const expected = orders.flatMap((orderId) => [`${orderId} charge`, `${orderId} ship`]);
      assert.deepEqual(effects, expected, 'each order is charged once and shipped once, in that order');
      console.log(`      ${kills} kills, ${orders.length} orders, ${resumed} resumptions`);
    });
  }
});

/** Every order has completed, each of its executions once; gives their ids. */
async function checkOrders(store: string): Promise<string[]> {
  const holdfast = await Holdfast.open({ flows: [OrderFlow], store });
  try {
    const ids: string[] = [];
    for (let number = 1; ; number++) {
      const orderId = `order-${number}`;
      const order = await holdfast.client.describe(orderId).catch((error) => {
        if (error.code === 'FLOW_NOT_FOUND') return undefined;
        throw error;
      });
      if (!order) return ids;
      ids.push(orderId);
      assert.equal(order.status, 'completed', orderId);
      const history = await holdfast.client.history(orderId);
      const completed = history.filter(({ kind }) => kind === 'ExecuteCompleted').map(({ fields }) => fields.execution);
      assert.deepEqual(completed, ['Charge-1', 'Ship-1', 'Ship-2'], `${orderId}: each execution completes once`);
    }
  } finally {
    await holdfast.close();
  }
}
