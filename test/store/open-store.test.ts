import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { openStore } from '../../lib/store/open-store';
import { batch, rejects, textAt } from '../support/store-conformance';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

describe('openStore', () => {
  let folder: TemporaryFolder;

  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder.remove());

  it('opens memory', async () => {
    assert.ok((await openStore('memory:')) instanceof MemoryStateStore);
  });

  for (const scheme of ['file', 'lmdb']) {
    it(`${scheme}: takes absolute, relative and file URL folders, and makes them`, async () => {
      const path = `${folder.path}/a b/é`;
      const urls = [
        `${scheme}:${path}`,
        `${scheme}:${relative('.', path)}`,
        pathToFileURL(path).href.replace('file', scheme),
      ];
      for (const url of urls) {
        const store = await openStore(url);
        assert.equal(store.location, `${scheme}:${path}`);
        const shard = await store.open(0);
        if (url === urls[0]) await shard.write(batch({ a: '1' }));
        assert.equal(await textAt(shard, 'a'), '1');
        await shard.close();
        await store.close();
      }
      assert.ok((await stat(path)).isDirectory());
    });
  }

  it('says what is accepted for anything else', async () => {
    for (const url of ['', 'state', '/tmp/state', 'http://host/x', 'file:', 'lmdb:', 'file://state/x']) {
      await assert.rejects(openStore(url), (failure: { code?: string; message: string }) => {
        assert.equal(failure.code, 'STORE_URL');
        assert.match(failure.message, /memory:.*file:.*lmdb:.*s3:.*gs:.*az:/);
        return true;
      });
    }
  });

  it('refuses a folder that cannot be made', async () => {
    await writeFile(`${folder.path}/taken`, '');
    await rejects(openStore(`file:${folder.path}/taken/state`), 'STORE_URL');
  });
});
