import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

const root = join(__dirname, '../..');
const run = promisify(execFile);

/** Lines that each sample must print, by its folder and arguments. */
const expected: Record<string, readonly string[]> = {
  hello: ['Hello, world!'],
  approval: [
    "bicycle: approved [ 'mara: yes', 'jon: yes' ]",
    "yacht: refused [ 'mara: yes', 'jon: no' ]",
    'moon: too late []',
  ],
  counter: ['  with an exclusive lock: 20'],
  cart: [
    '  has no room for a table (90)',
    'RPC_REJECTED: The cart holds 95 already.',
    'checked out: { items: 3, total: 185 }',
  ],
  children: ["  'piano failed: nobody lives there',", 'survey delivered'],
  'fan-out': ['14 words on 4 pages'],
  entity: ['asked twice, applied once: 225 225', 'refused: Overdrawn: 80 is above the limit of cash.'],
  order: ["order-1 has completed: { shipped: 'order-1' } "],
  'order --refuse': ["order-2 has completed: { refunded: 'order-2' } "],
  saga: ['t-2: put 50 back to jon: There is no account of nobody.', 't-3: moved nothing: jon has only 50.'],
  schedule: [
    '  2026-03-29 fires 1',
    '  Sales, eu, 29/03/2026, 03:00:00',
    '  Sales, eu, 25/10/2026, 02:30:00',
    'heartbeat is paused: seen enough',
    'nightly goes on',
  ],
  subscription: [
    'mara paid 24: too expensive',
    'jon cancelled in the trial: not for me',
    'kim paid 36: the plan has ended',
  ],
};

describe('samples', () => {
  let folder: TemporaryFolder;

  before(async () => {
    folder = await temporaryFolder();
  });
  after(() => folder.remove());

  it('are all here', () => {
    const folders = readdirSync(join(root, 'samples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    // The cluster needs Redis: see test/cluster/sample.test.ts.
    const named = new Set(['cluster', ...Object.keys(expected).map((sample) => sample.split(' ')[0])]);
    assert.deepEqual(folders.map(({ name }) => name).sort(), [...named].sort());
  });

  for (const [sample, lines] of Object.entries(expected)) {
    it(`${sample} prints what it should`, async () => {
      const [name, ...rest] = sample.split(' ');
      const program = join(root, 'samples', name!, 'main.ts');
      // One as its reader starts it; the others without compiling the project once more each.
      const loader = name === 'hello' ? 'ts-node/register' : './test/support/register.cjs';
      const { stdout } = await run(process.execPath, ['-r', loader, program, ...rest], {
        cwd: root,
        env: { ...process.env, HOLDFAST_DIR: folder.path, HOLDFAST_STORE: '' },
        timeout: 50_000,
      });
      const printed = stdout.split('\n');
      for (const line of lines) assert.ok(printed.includes(line), `${line}\nis not in\n${stdout}`);
    });
  }
});
