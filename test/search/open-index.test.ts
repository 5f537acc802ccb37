import assert from 'node:assert/strict';
import { openIndex } from '../../index';
import { openClient } from '../../lib/cluster';
import { MemoryFlowIndex } from '../../lib/search/memory-flow-index';
import { temporaryFolder } from '../support/temporary-folder';

describe('openIndex', () => {
  it('takes addresses, options of a DataSource, and an index as it is', async () => {
    const folder = await temporaryFolder();
    const own = new MemoryFlowIndex();
    assert.equal(await openIndex(own), own);
    assert.equal((await openIndex('memory:')).location, 'memory:');
    const sqlite = await openIndex(`sqlite:${folder.path}/a/b/index.db`);
    assert.equal(sqlite.location, `sqlite:${folder.path}/a/b/index.db`);
    const options = await openIndex({ type: 'better-sqlite3', database: `${folder.path}/a/b/index.db` });
    const everything = { filters: [], orderBy: 'flowId', descending: false, after: null, limit: 1 } as const;
    assert.deepEqual(await options.list(everything), await sqlite.list(everything));
    await Promise.all([sqlite.close(), options.close()]);
    await folder.remove();
  });

  it('shows no password', async () => {
    const index = await openIndex('postgresql://me:secret@127.0.0.1:1/db?password=secret');
    assert.equal(index.location, 'postgresql://127.0.0.1:1/db');
    const refused = index.list({ filters: [], orderBy: 'flowId', descending: false, after: null, limit: 1 });
    await assert.rejects(refused, (error: Error & { code: string }) => {
      assert.ok(!error.message.includes('secret'));
      return error.code === 'INDEX_UNAVAILABLE';
    });
    await index.close();
    await assert.rejects(openIndex('mysql://me:secret@host/db'), (error: Error & { code: string }) => {
      assert.ok(!error.message.includes('secret'));
      return error.code === 'INDEX_URL';
    });
  });

  it('refuses what names no index', async () => {
    for (const address of ['', 'index.db', 'sqlite:', 'file:index', 'redis://localhost']) {
      await assert.rejects(openIndex(address), { code: 'INDEX_URL' }, address);
    }
    await assert.rejects(openIndex({ type: 'mysql' as never }), { code: 'INDEX_URL' });
    await assert.rejects(openIndex('sqlite:/dev/null/none/index.db'), { code: 'INDEX_URL' });
    for (const namespace of ['', 'a b', "x'", 'x'.repeat(65)]) {
      await assert.rejects(openIndex('memory:', namespace), { code: 'INVALID_ARGUMENT' }, namespace);
    }
    const client = openClient({ redis: 'redis://127.0.0.1:1', flows: [], index: 'memory:' });
    await assert.rejects(client, { code: 'INDEX_URL' });
  });
});
