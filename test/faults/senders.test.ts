import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Holdfast } from '../../index';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';
import { checkSenders } from './check-senders';
import { runAndKill } from './child';
import { compiledProject } from './compiled';
import { randomFrom } from './random';
import { SendersFlow, senders } from './senders-flow';

/** How often the process is killed on each store; `npm run faults` does it 50 times. */
const kills = Number(process.env.KILLS ?? 4);
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

function acknowledgedIn(folder: TemporaryFolder): number {
  const file = join(folder.path, 'acknowledged.log');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
}

describe(`Ten senders race, and kill -9 at random moments (KILLS=${kills} SEED=${seed})`, function () {
  this.timeout(60_000 + kills * 30_000);
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
    it(`[N2] [N3] [C3] ${scheme}: every acknowledged message is handled exactly once, in order per sender, while it rolls over`, async () => {
      const store = `${scheme}:${join(folder.path, 'state')}`;
      const program = join(project, 'test/faults/senders.js');
      // Every kill hits the process as it is about to send what is left.
      const each = 10 * (kills + 1);
      const total = each * senders * 2;
      for (let left = kills; left > 0; left--) {
        const sent = acknowledgedIn(folder);
        // A quick process may have sent all before a kill reached it.
        if (sent >= total) break;
        const next = sent + 1 + Math.floor((random() * (total - sent - 1)) / left);
        const mark = `acknowledged ${next}.`;
        const { killed } = await runAndKill(
          [program, store, folder.path, `${each}`],
          { STAYS: 'yes' },
          mark,
          random() * 30,
        );
        assert.ok(killed);
      }
      await runAndKill([program, store, folder.path, `${each}`], {}, null, null);
      const holdfast = await Holdfast.open({ flows: [SendersFlow], store });
      try {
        await checkSenders(holdfast.client, each);
      } finally {
        await holdfast.close();
      }
    });
  }
});
