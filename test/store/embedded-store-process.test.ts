import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openStore } from '../../lib/store/open-store';
import { keysAndTexts, rejects } from '../support/store-conformance';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

interface StoreProcess {
  readonly child: ChildProcess;
  /** What it printed, line by line. */
  readonly lines: AsyncIterableIterator<string>;
}

for (const scheme of ['file', 'lmdb']) {
  describe(`${scheme}: over processes`, () => {
    let folder: TemporaryFolder;
    const children: ChildProcess[] = [];

    const start = (task: string): StoreProcess => {
      const script = join(__dirname, '../support/store-process.ts');
      const child = spawn(process.execPath, ['-r', './test/support/register.cjs', script, urlOf(), task], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      return { child, lines: createInterface({ input: child.stdout! })[Symbol.asyncIterator]() };
    };
    const urlOf = () => `${scheme}:${folder.path}/state`;

    beforeEach(async () => {
      folder = await temporaryFolder();
    });
    afterEach(async () => {
      for (const child of children.splice(0)) await kill(child);
      await folder.remove();
    });

    it('[P8] kill -9 loses no acknowledged write', async () => {
      const { child, lines } = start('write');
      let acknowledged = -1;
      for await (const line of lines) {
        if (line === 'held') continue;
        acknowledged = Number(line);
        if (acknowledged === 100) child.kill('SIGKILL');
      }
      assert.ok(acknowledged >= 100);
      const store = await openStore(urlOf());
      const shard = await store.open(0);
      for (let i = 0; i <= acknowledged; i++) {
        const value = await shard.get(`k${i}`);
        assert.ok(value !== undefined && Buffer.from(value).equals(Buffer.alloc(500, i)), `k${i} of ${acknowledged}`);
      }
      await shard.close();
      await store.close();
    });

    it('a second living process is refused, and told who holds the store', async () => {
      const { child, lines } = start('hold');
      assert.equal(await next(lines), 'held');
      await assert.rejects(openStore(urlOf()), (failure: { code?: string; message: string }) => {
        assert.equal(failure.code, 'STORE_IN_USE');
        assert.ok(failure.message.includes(String(child.pid)), failure.message);
        return true;
      });
      child.kill('SIGSTOP');
      await rejects(openStore(urlOf()), 'STORE_IN_USE');
    });

    it('[P6] the lock of a killed process is taken over at once', async () => {
      const { child, lines } = start('hold');
      assert.equal(await next(lines), 'held');
      await kill(child);
      const store = await openStore(urlOf());
      const shard = await store.open(0);
      assert.equal(shard.epoch, 2);
      assert.deepEqual(await keysAndTexts(shard, { from: '', to: '~' }), []);
      await shard.close();
      await store.close();
    });

    it('[P5] of several processes that take over a lock, one gets it', async () => {
      const { child, lines } = start('hold');
      assert.equal(await next(lines), 'held');
      await kill(child);
      const rivals = [start('hold'), start('hold'), start('hold')];
      const answers = await Promise.all(rivals.map((rival) => next(rival.lines)));
      assert.equal(answers.filter((answer) => answer === 'held').length, 1, answers.join('; '));
      assert.equal(
        answers.filter((answer) => answer?.startsWith('refused STORE_IN_USE')).length,
        2,
        answers.join('; '),
      );
    });
  });
}

async function next(lines: AsyncIterableIterator<string>): Promise<string | undefined> {
  return (await lines.next()).value;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
