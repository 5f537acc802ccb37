import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Holdfast } from '../../index';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';
import { LoadFlow } from './load-flow';

describe('a second process on an embedded store', () => {
  let folder: TemporaryFolder;
  const children: ChildProcess[] = [];

  /** Runs `hold`; gives the child and the first line it prints. */
  const hold = async (store: string) => {
    const child = spawn(process.execPath, ['-r', './test/support/register.cjs', join(__dirname, 'hold.ts'), store], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return { child, line: line as string };
  };

  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await once(child, 'exit');
    }
    await folder.remove();
  });

  for (const scheme of ['file', 'lmdb']) {
    it(`[P5] ${scheme}: is refused with STORE_IN_USE, and the first one goes on`, async () => {
      const store = `${scheme}:${folder.path}/state`;
      const holdfast = await Holdfast.open({ flows: [LoadFlow], store });
      const { line } = await hold(store);
      assert.equal(line, 'STORE_IN_USE');
      await holdfast.client.start(LoadFlow, 'still works', { messages: 1, branches: 1 });
      await holdfast.client.stop('still works', 'terminate', 'the test is over');
      await holdfast.close();
    });

    it(`[P5] ${scheme}: gets in when the first was killed`, async () => {
      const store = `${scheme}:${folder.path}/state`;
      const { child, line } = await hold(store);
      assert.equal(line, 'open');
      await assert.rejects(Holdfast.open({ flows: [LoadFlow], store }), {
        code: 'STORE_IN_USE',
        name: 'StoreInUseError',
      });
      child.kill('SIGKILL');
      await once(child, 'exit');
      const holdfast = await Holdfast.open({ flows: [LoadFlow], store });
      await holdfast.close();
    });
  }
});
