import assert from 'node:assert/strict';
import { examine } from '../../lib/cli/doctor';
import { openEngine } from '../../lib/cluster';
import type { ShardStore } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { freePort, RedisServer } from '../support/redis-server';
import { temporaryFolder } from '../support/temporary-folder';

/** Takes every write, also of an owner that was replaced: as an object store does that ignores conditions. */
class CarelessStore extends MemoryStateStore {
  private epochs = 0;

  override async open(shard: number): Promise<ShardStore> {
    const epoch = ++this.epochs;
    const own = await super.open(shard);
    return {
      epoch,
      stats: own.stats,
      write: async (batch) => (await super.open(shard)).write(batch),
      get: async (key) => (await super.open(shard)).get(key),
      scan: (range) => own.scan(range),
      close: () => own.close(),
    };
  }
}

describe('holdfast doctor', function () {
  this.timeout(180_000);

  it('[C56][W6] proves version, policy, clocks and fences', async () => {
    const server = await RedisServer.start();
    const folder = await temporaryFolder();
    const engine = await openEngine({
      redis: server.url,
      store: `file:${folder.path}/state`,
      shards: 2,
      signals: false,
    });
    const examined = await examine({ redis: server.url, store: `file:${folder.path}/state` });
    assert.deepEqual(
      examined.map(({ what, ok }) => [what, ok]),
      [
        ['Redis version', true],
        ['Redis eviction', true],
        ['Clocks', true],
        ['Store', true],
      ],
    );
    await engine.close();
    // An engine on a host whose clock is off.
    await server.redis.hset('{holdfast:default}:clocks', 'another', 1_500);
    const clocks = (await examine({ redis: server.url })).find(({ what }) => what === 'Clocks')!;
    assert.equal(clocks.ok, false, clocks.found);
    await folder.remove();
    await server.stop();
  });

  it('[C56] refuses a store that lets a replaced owner write', async () => {
    const [store] = await examine({ store: new CarelessStore() });
    assert.equal(store!.ok, false);
    assert.match(store!.found, /conditional writes/);
  });

  it('[C53] refuses a Redis that may evict keys; so does every process, unless it is allowed', async () => {
    const server = await RedisServer.start({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const eviction = (await examine({ redis: server.url })).find(({ what }) => what === 'Redis eviction')!;
    assert.equal(eviction.ok, false);
    const options = { redis: server.url, store: new MemoryStateStore(), signals: false };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    await assert.rejects(openEngine({ ...options, logger }), { code: 'REDIS_UNSUITABLE' });
    const engine = await openEngine({ ...options, logger, allowEviction: true });
    await engine.close();
    await server.stop();
  });

  it('says what it cannot reach', async () => {
    const [redis] = await examine({ redis: `redis://127.0.0.1:${await freePort()}` });
    assert.equal(redis!.ok, false);
  });
});
