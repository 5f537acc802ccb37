import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Holdfast } from '../../index';
import { Mail, SendersFlow, senders, targets } from './senders-flow';

/**
 * Ten senders race and may be killed at any moment: `senders <store> <folder> <messages of each>`. What was acknowledged is
 * written down after the answer; started again, each sender goes on with the first message that is not. With STAYS it is
 * there until it is killed.
 */
const [, , store, folder, each] = process.argv as [string, string, string, string, string];
const file = join(folder, 'acknowledged.log');

async function main() {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const acknowledged = new Set(lines.filter(Boolean));
  const holdfast = await Holdfast.open({ flows: [SendersFlow], store });
  const { client } = holdfast;
  const once = async (name: string, act: () => Promise<unknown>) => {
    if (acknowledged.has(name)) return;
    await act();
    appendFileSync(file, `${name}\n`);
    acknowledged.add(name);
    console.log(`acknowledged ${acknowledged.size}.`);
  };
  const lanes = Object.entries(targets).map(async ([flowId, continues]) => {
    const terms = { each: Number(each), continues };
    await once(`start ${flowId}`, () => client.start(SendersFlow, flowId, terms, { requestId: `start ${flowId}` }));
    const send = async (sender: number) => {
      for (let seq = 1; seq <= Number(each); seq++) {
        const messageId = `${flowId} ${sender} ${seq}`;
        await once(messageId, () => client.publish(SendersFlow, flowId, Mail, { sender, seq }, { messageId }));
      }
    };
    await Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
    await client.result(SendersFlow, flowId);
  });
  await Promise.all(lanes);
  if (process.env.STAYS) await new Promise(() => setInterval(() => {}, 1_000));
  await holdfast.close();
}

main();
