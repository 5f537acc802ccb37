import { randomUUID } from 'node:crypto';
import { RedisDispatch } from '../../lib/dispatch/redis/redis-dispatch';
import { describeDispatch } from '../support/dispatch-conformance';
import { RedisServer } from '../support/redis-server';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
let server: RedisServer;

before(async () => {
  server = await RedisServer.start();
});

after(() => server.stop());

describeDispatch('Redis', async () => {
  const dispatch = await RedisDispatch.open({
    ...{ redis: server.url, namespace: 'conformance', process: randomUUID(), shards: 8, logger },
  });
  return { dispatch, close: () => dispatch.close() };
});
