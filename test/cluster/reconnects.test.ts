import assert from 'node:assert/strict';
import { openClient, openEngine, openWorker } from '../../lib/cluster';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { CountFlow, clusterFlows } from '../support/cluster-flows';
import { eventually } from '../support/eventually';
import { RedisProxy } from '../support/redis-proxy';
import { RedisServer } from '../support/redis-server';

const cuts = Number(process.env.RECONNECTS ?? 20);
const logger = { debug() {}, info() {}, warn() {}, error() {} };

describe('Connections that are lost again and again', function () {
  this.timeout(240_000);

  it('[C63] leave no connection, listener or timer behind', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => void warnings.push(name);
    process.on('warning', onWarning);
    const server = await RedisServer.start();
    const proxy = await RedisProxy.start(server.port);
    const common = { redis: proxy.url, shards: 2, logger, signals: false, flows: clusterFlows };
    const engine = await openEngine({ ...common, store: new MemoryStateStore() });
    const worker = await openWorker({ ...common, grace: 0 });
    const opened = await openClient(common);
    const { client } = opened;
    const run = async (id: string) => {
      await client.start(CountFlow, id, { left: 2, pauseMs: 0 });
      assert.equal(await client.result(CountFlow, id), 3);
    };
    const counted = async () => {
      const connections = (await server.redis.client('LIST')) as string;
      const listeners = process.eventNames().map((name) => process.listenerCount(name));
      return {
        connections: connections.trim().split('\n').length,
        listeners: listeners.reduce((sum, count) => sum + count, 0),
        sockets: process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length,
        timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
      };
    };
    await run('first');
    const before = await counted();
    for (let i = 0; i < cuts; i++) {
      proxy.cut();
      await eventually(async () => assert.ok((await counted()).connections >= before.connections), 20_000);
    }
    await run('last');
    await eventually(async () => {
      const { connections, listeners, sockets, timers } = await counted();
      assert.deepEqual([connections, listeners, sockets], [before.connections, before.listeners, before.sockets]);
      // Some tick at any time.
      assert.ok(timers <= before.timers + 10, `${before.timers} timers, and now ${timers}`);
    }, 30_000);
    assert.deepEqual(warnings, []);
    process.off('warning', onWarning);
    opened.close();
    await worker.close();
    await engine.close();
    await proxy.stop();
    await server.stop();
  });
});
