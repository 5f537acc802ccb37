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
  children: ["  'piano failed: nobody lives there',", 'survey delivered'],
  'fan-out': ['14 words on 4 pages'],
  order: ["order-1 has completed: { shipped: 'order-1' } "],
  'order --refuse': ["order-2 has completed: { refunded: 'order-2' } "],
};

describe('samples', function () {
  this.timeout(60_000);
  let folder: TemporaryFolder;

  before(async () => {
    folder = await temporaryFolder();
  });
  after(() => folder.remove());

  it('are all here', () => {
    const folders = readdirSync(join(root, 'samples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const named = new Set(Object.keys(expected).map((sample) => sample.split(' ')[0]));
    assert.deepEqual(folders.map(({ name }) => name).sort(), [...named].sort());
  });

  for (const [sample, lines] of Object.entries(expected)) {
    it(`${sample} prints what it should`, async () => {
      const [name, ...rest] = sample.split(' ');
      const program = join(root, 'samples', name!, 'main.ts');
      const { stdout } = await run(process.execPath, ['-r', 'ts-node/register', program, ...rest], {
        cwd: root,
        env: { ...process.env, HOLDFAST_DIR: folder.path, HOLDFAST_STORE: '' },
        timeout: 50_000,
      });
      const printed = stdout.split('\n');
      for (const line of lines) assert.ok(printed.includes(line), `${line}\nis not in\n${stdout}`);
    });
  }
});
