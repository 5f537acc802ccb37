import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RedisServer } from '../support/redis-server';

describe('samples/cluster', function () {
  this.timeout(240_000);

  it('[P6] counts every parcel once, though an engine and a worker are killed', async () => {
    const server = await RedisServer.start();
    const root = join(__dirname, '../..');
    const register = join(root, 'test/support/register.cjs');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['-r', register, join(root, 'samples/cluster/main.ts')],
      { env: { ...process.env, REDIS_URL: server.url }, timeout: 100_000 },
    );
    assert.match(stdout, /engine 1 is killed/);
    assert.match(stdout, /worker 2 is killed/);
    assert.match(stdout, /delivered 781800 g, counted 781800 g, 0 depots are wrong/);
    await server.stop();
  });
});
