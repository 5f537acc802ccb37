import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, Holdfast } from '../../index';
import { effects, LoadFlow, loadOf, Messages } from './load-flow';

/**
 * Drives a load and may be killed at any moment: `load <store> <folder> <flows>`. What was acknowledged is written to
 * `acknowledged.log` after the answer; started again, it goes on with what is not in there. Ends when all Flows have.
 */
const [, , store, folder, flows] = process.argv as [string, string, string, string, string];
const acknowledged = join(folder, 'acknowledged.log');
effects.file = join(folder, 'effects.log');

const inFlight = 32;

async function main() {
  const known = new Set(existsSync(acknowledged) ? readFileSync(acknowledged, 'utf8').split('\n') : []);
  const holdfast = await Holdfast.open({ flows: [LoadFlow], store });
  console.log('open');
  const { client } = holdfast;
  const once = async (name: string, run: () => Promise<unknown>) => {
    if (known.has(name)) return;
    await run();
    appendFileSync(acknowledged, `${name}\n`);
  };
  let next = 0;
  const lane = async () => {
    while (next < Number(flows)) await drive(client, next++, once);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  await holdfast.close();
  console.log('ended');
}

async function drive(
  client: Client,
  number: number,
  once: (name: string, run: () => Promise<unknown>) => Promise<void>,
) {
  const flowId = `load-${number}`;
  const load = loadOf(number);
  await once(`end ${flowId}`, async () => {
    await once(`start ${flowId}`, () => client.start(LoadFlow, flowId, load, { requestId: `start-${flowId}` }));
    for (let message = 0; message < load.messages; message++) {
      const messageId = `${flowId}-${message}`;
      await once(`publish ${messageId}`, () =>
        client.publish(LoadFlow, flowId, Messages, message, { messageId, deadline: '30s' }),
      );
    }
    await client.outputs(LoadFlow, flowId);
  });
}

main();
