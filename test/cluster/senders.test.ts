import { join } from 'node:path';
import { checkSenders } from '../faults/check-senders';
import { randomFrom } from '../faults/random';
import { Mail, SendersFlow, senders, targets } from '../faults/senders-flow';
import { TestCluster } from '../support/cluster';

/** How often an engine is killed; `ENGINE_KILLS=50` for long. */
const kills = Number(process.env.ENGINE_KILLS ?? 3);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const deadline = '120s';

describe(`Ten senders race over Redis, and engines are killed (ENGINE_KILLS=${kills} SEED=${seed})`, function () {
  this.timeout(180_000 + kills * 30_000);
  const random = randomFrom(seed);
  let cluster: TestCluster;

  before(async () => {
    cluster = await TestCluster.start({ lease: '2s', flows: join(__dirname, '../faults/senders-flow.ts') });
  });
  after(() => cluster?.stop());

  it('[N2] [N3] [C3] every acknowledged message is handled exactly once, in order per sender, while it rolls over', async () => {
    const engines = await Promise.all([cluster.engine(), cluster.engine()]);
    await Promise.all([cluster.worker(), cluster.worker()]);
    const client = await cluster.openClient();
    const each = 15 * (kills + 1);
    const total = each * senders * 2;
    let acknowledged = 0;
    /** Who waits for so many to be acknowledged. */
    let next: { readonly at: number; reached(): void } | undefined;
    const sent = async (at: number) => {
      if (acknowledged < at) await new Promise<void>((reached) => (next = { at, reached }));
    };
    const lanes = Object.entries(targets).map(async ([flowId, continues]) => {
      await client.start(SendersFlow, flowId, { each, continues });
      const send = async (sender: number) => {
        for (let seq = 1; seq <= each; seq++) {
          await client.publish(SendersFlow, flowId, Mail, { sender, seq }, { deadline });
          acknowledged++;
          if (next && acknowledged >= next.at) next.reached();
        }
      };
      await Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
    });
    const killing = async () => {
      for (let left = kills; left > 0; left--) {
        await sent(acknowledged + 1 + Math.floor((random() * (total - acknowledged - 1)) / left));
        const e = random() < 0.5 ? 0 : 1;
        await engines[e]!.kill();
        engines[e] = await cluster.engine();
      }
    };
    await Promise.all([...lanes, killing()]);
    await checkSenders(client, each);
  });
});
