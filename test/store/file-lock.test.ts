import assert from 'node:assert/strict';
import { readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FileLock } from '../../lib/store/file-lock';
import { rejects } from '../support/store-conformance';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

describe('FileLock', () => {
  let folder: TemporaryFolder;
  const lockFile = () => join(folder.path, 'holdfast.lock');
  const acquire = () => FileLock.acquire(folder.path, 'file:test');
  const holder = { pid: process.pid, started: 'x', realm: 'elsewhere', host: 'other', nonce: 'n' };

  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder.remove());

  it('is held once in a process, by whatever path', async () => {
    const lock = await acquire();
    await rejects(acquire(), 'STORE_IN_USE');
    const alias = `${folder.path}-alias`;
    await symlink(folder.path, alias);
    try {
      await rejects(FileLock.acquire(alias, 'file:alias'), 'STORE_IN_USE');
    } finally {
      await rm(alias);
    }
    await lock.release();
    await lock.release();
    const again = await acquire();
    await again.release();
    assert.deepEqual(await readdir(folder.path), []);
  });

  it('leaves only the lock file behind while it is held', async () => {
    const lock = await acquire();
    assert.deepEqual(await readdir(folder.path), ['holdfast.lock']);
    await lock.release();
  });

  it('is refused while the file of another machine beats, and taken over when it stopped', async () => {
    await writeFile(lockFile(), JSON.stringify(holder));
    await rejects(acquire(), 'STORE_IN_USE');
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lockFile(), longAgo, longAgo);
    const lock = await acquire();
    await lock.release();
  });

  it('is taken over from an earlier process with the same pid', async () => {
    const first = await acquire();
    const mine = JSON.parse(await readFile(lockFile(), 'utf8'));
    await first.release();
    await writeFile(lockFile(), JSON.stringify({ ...mine, started: '1', nonce: 'earlier' }));
    if (process.platform !== 'linux') return;
    const lock = await acquire();
    await lock.release();
  });

  it('is taken over when the file is torn, as after a power cut', async () => {
    await writeFile(lockFile(), '');
    const lock = await acquire();
    await lock.release();
  });

  it('leaves alone a lock that somebody else took over', async () => {
    const lock = await acquire();
    await rm(lockFile());
    await writeFile(lockFile(), JSON.stringify(holder));
    await lock.release();
    assert.equal(JSON.parse(await readFile(lockFile(), 'utf8')).nonce, 'n');
  });
});
