import assert from 'node:assert/strict';
import { Flow, gracefulComplete, Step } from '../../index';
import { type ClusterEngine, openClient, openEngine, openWorker } from '../../lib/cluster';
import { HoldfastError } from '../../lib/errors';
import type { StateStore } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { shardOf } from '../../lib/values';
import { eventually } from '../support/eventually';
import { ObservedStore } from '../support/observed-store';
import { RedisServer } from '../support/redis-server';

@Step()
class OnlyStep {
  execute(n: number) {
    return gracefulComplete(n);
  }
}

@Flow()
class ShortFlow {
  static readonly start = OnlyStep;
}

const shards = 4;
const all = [0, 1, 2, 3];
const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** The way that one engine has to a store which others reach by their own. */
class Way {
  isCut = false;
  readonly store: StateStore;

  constructor(shared: StateStore) {
    const check = () => {
      if (this.isCut) throw new HoldfastError('STORE_UNAVAILABLE', 'This engine does not reach the store.');
    };
    const open = async (shard: number) => {
      check();
      return shared.open(shard);
    };
    const observed = new ObservedStore({ location: shared.location, open, close: async () => {} });
    observed.faults = { beforeWrite: check, beforeScan: check };
    this.store = observed.forProcess();
  }
}

/** One on each shard. */
function flowIds(name: string): string[] {
  const found = new Map<number, string>();
  for (let i = 0; found.size < shards; i++) found.set(shardOf(`${name}-${i}`, shards), `${name}-${i}`);
  return [...found.values()];
}

describe('An engine that does not reach its store', function () {
  this.timeout(240_000);
  let server: RedisServer;
  let closing: (() => unknown)[] = [];
  let round = 0;
  let shared: MemoryStateStore;
  let way: Way;

  before(async () => {
    server = await RedisServer.start();
  });

  beforeEach(() => {
    round++;
    shared = new MemoryStateStore();
    way = new Way(shared);
  });

  afterEach(async () => {
    way.isCut = false;
    for (const close of closing.reverse()) await close();
    closing = [];
  });

  after(() => server.stop());

  const common = () => ({ redis: server.url, namespace: `unreached-${round}`, shards, logger, signals: false });

  async function open(store: StateStore): Promise<ClusterEngine> {
    const engine = await openEngine({ ...common(), store, lease: '2s' });
    closing.push(() => engine.close());
    return engine;
  }

  async function run(): Promise<(ids: readonly string[]) => Promise<unknown>> {
    const flows = [ShortFlow];
    const worker = await openWorker({ ...common(), flows, grace: 0 });
    closing.push(() => worker.close());
    const opened = await openClient({ ...common(), flows });
    closing.push(() => opened.close());
    const { client } = opened;
    return (ids) =>
      Promise.all(
        ids.map(async (id, n) => {
          await client.start(ShortFlow, id, n, { deadline: '100s' });
          assert.equal(await client.result(ShortFlow, id, { deadline: '30s' }), n);
        }),
      );
  }

  it('[P6] [X10] lets others have its shards that it cannot open again, and has its share when it can', async () => {
    const [cut, other] = [await open(way.store), await open(shared)];
    await eventually(() => assert.deepEqual([cut.shards.length, other.shards.length], [2, 2]), 20_000);
    const complete = await run();
    await complete(flowIds('before'));
    way.isCut = true;
    // What an engine has nothing to write for it does not miss.
    const during = complete(flowIds('during'));
    await eventually(() => assert.deepEqual(other.shards, all), 60_000);
    await during;
    await complete(flowIds('then'));
    way.isCut = false;
    await eventually(() => assert.deepEqual([cut.shards.length, other.shards.length], [2, 2]), 90_000);
    await complete(flowIds('after'));
  });

  it('[P6] [X10] lets others have the shards that it could never open', async () => {
    const other = await open(shared);
    assert.deepEqual(other.shards, all);
    way.isCut = true;
    const cut = await open(way.store);
    // It is given its share first.
    await eventually(() => assert.equal(other.shards.length, 2), 20_000);
    await eventually(() => assert.deepEqual(other.shards, all), 30_000);
    assert.deepEqual(cut.shards, []);
    const complete = await run();
    await complete(flowIds('whole'));
  });
});
