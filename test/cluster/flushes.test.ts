import assert from 'node:assert/strict';
import { Flow, goTo, gracefulComplete, Step } from '../../index';
import {
  type ClusterClient,
  type ClusterEngine,
  type ClusterWorker,
  openClient,
  openEngine,
  openWorker,
} from '../../lib/cluster';
import type { ShardStore } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { RedisServer } from '../support/redis-server';

@Step({ name: 'Next' })
class NextStep {
  execute(left: number) {
    return left > 1 ? goTo(NextStep, left - 1) : gracefulComplete();
  }
}

@Flow({ name: 'chain' })
class ChainFlow {
  static readonly start = NextStep;
}

@Step({ name: 'Ping', taskQueue: 'ping' })
class PingStep {
  execute(left: number) {
    return left > 1 ? goTo(PongStep, left - 1) : gracefulComplete();
  }
}

@Step({ name: 'Pong', taskQueue: 'pong' })
class PongStep {
  execute(left: number): ReturnType<PingStep['execute']> {
    return left > 1 ? (goTo(PingStep, left - 1) as never) : gracefulComplete();
  }
}

/** Each Step runs on another worker than the one before. */
@Flow({ name: 'queued' })
class QueuedFlow {
  static readonly start = PingStep;
  static readonly steps = [PongStep];
}

const steps = 40;
/** The start of the Flow, the first claim, and what is written once a retention or the like is over. */
const besides = 4;
const flows = [ChainFlow, QueuedFlow];

/** One shard takes long to be closed. */
class SlowlyClosed extends MemoryStateStore {
  slow: number | undefined;
  private closed = () => {};
  readonly mayClose = new Promise<void>((resolve) => {
    this.closed = resolve;
  });

  override async open(shard: number): Promise<ShardStore> {
    const opened = await super.open(shard);
    const close = opened.close.bind(opened);
    opened.close = async () => {
      if (shard === this.slow) await this.mayClose;
      await close();
    };
    return opened;
  }

  closeSlow(): void {
    this.closed();
  }
}

describe('Over Redis', function () {
  this.timeout(180_000);
  let server: RedisServer;
  let engine: ClusterEngine;
  let workers: ClusterWorker[];
  let opened: ClusterClient;
  const store = new MemoryStateStore();

  before(async () => {
    server = await RedisServer.start();
    const common = { redis: server.url, shards: 2, signals: false };
    engine = await openEngine({ ...common, store });
    workers = [
      await openWorker({ ...common, flows, taskQueues: ['default', 'ping'] }),
      await openWorker({ ...common, flows, taskQueues: ['pong'] }),
    ];
    opened = await openClient({ ...common, flows });
  });

  after(async () => {
    opened.close();
    await Promise.all(workers.map((worker) => worker.close()));
    await engine.close();
    await server.stop();
  });

  async function writesOf(run: () => Promise<unknown>): Promise<number> {
    const before = engine.stats.writes;
    await run();
    return engine.stats.writes - before;
  }

  it('[P2] a Step that follows on the same worker costs one write, the start of the next included', async () => {
    const { client } = opened;
    const writes = await writesOf(async () => {
      await client.start(ChainFlow, 'chain', steps);
      await client.result(ChainFlow, 'chain');
    });
    assert.ok(writes >= steps && writes <= steps + besides, `${writes} writes of ${steps} steps`);
  });

  it('[P2] a Step that is queued costs two', async () => {
    const { client } = opened;
    const writes = await writesOf(async () => {
      await client.start(QueuedFlow, 'queued', steps);
      await client.result(QueuedFlow, 'queued');
    });
    assert.ok(writes > steps + besides && writes <= 2 * steps + besides, `${writes} writes of ${steps} steps`);
  });

  it('[P3] ASYNC steps share writes', async () => {
    const { client } = opened;
    const writes = await writesOf(async () => {
      await client.start(ChainFlow, 'async', steps, { durability: 'ASYNC' });
      await client.result(ChainFlow, 'async');
    });
    assert.ok(writes < steps, `${writes} writes of ${steps} steps`);
  });

  it('[X10] a shard is handed over as soon as it is closed, and the engine that stops takes none again', async () => {
    const common = { redis: server.url, namespace: 'hand-over', shards: 4, signals: false, lease: '60s' };
    const slow = new SlowlyClosed();
    const first = await openEngine({ ...common, store: slow });
    const second = await openEngine({ ...common, store: slow });
    await eventually(() => assert.equal(second.shards.length, 2), 20_000);
    slow.slow = first.shards[1]!;
    const stopping = first.close();
    await eventually(() => assert.equal(second.shards.length, 3), 20_000);
    // Longer than it takes an engine to look for free shards.
    const looked = Date.now() + 1_500;
    await eventually(() => Date.now() > looked);
    slow.closeSlow();
    await stopping;
    await eventually(() => assert.equal(second.shards.length, 4), 20_000);
    await second.close();
  });
});
