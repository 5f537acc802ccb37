import { rm } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { openClient } from '../lib/cluster';
import { shardOf } from '../lib/values';
import { RedisServer } from '../test/support/redis-server';
import { ChainFlow } from './flows';
import { printTable } from './measure';
import { BenchProcess, benchFolder } from './system';

const shards = 4;
const rounds = Number(process.env.ROUNDS ?? 5);

/** How long a shard answers nobody while its engine stops in good order or is killed: the longest gap between two starts. */
async function main() {
  const server = await RedisServer.start();
  const folder = await benchFolder();
  const common = { redis: server.url, shards, store: `file:${folder}` };
  const engine = () => BenchProcess.start({ ...common, role: 'engine' });
  const worker = await BenchProcess.start({ ...common, role: 'worker' });
  const opened = await openClient({ redis: server.url, shards, flows: [ChainFlow] });
  const other = await engine();
  const gaps = { stop: [] as number[], kill: [] as number[] };
  for (const how of ['stop', 'kill'] as const) {
    for (let round = 0; round < rounds; round++) {
      const going = await engine();
      await shared(going, other);
      const measuring = gapsOf(`${how} ${round}`, opened.client);
      await sleep(500);
      const gone = performance.now();
      await going[how]();
      const took = performance.now() - gone;
      gaps[how].push(await measuring.end());
      console.log(
        `${how}: the process was gone after ${took.toFixed(0)} ms, the longest gap was ${gaps[how].at(-1)!.toFixed(0)} ms`,
      );
    }
  }
  opened.close();
  await Promise.all([worker.stop(), other.stop()]);
  await server.stop();
  await rm(folder, { recursive: true, force: true });
  const row = (name: string, values: readonly number[]) => ({
    '': name,
    'median ms': [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!.toFixed(0),
    'longest ms': Math.max(...values).toFixed(0),
  });
  console.log(
    `\ntake-over: ${shards} shards, two engines, lease 10 s, ${rounds} rounds each, Node ${process.version}\n`,
  );
  printTable([row('clean stop (SIGTERM)', gaps.stop), row('kill -9', gaps.kill)]);
}

/** Starts Flows in every shard, one after the other, and keeps the longest time that one took. */
function gapsOf(name: string, client: Awaited<ReturnType<typeof openClient>>['client']) {
  let longest = 0;
  let over = false;
  const lane = async (shard: number) => {
    for (let i = 0; !over; i++) {
      const id = `${name} ${shard} ${i}`;
      if (shardOf(id, shards) !== shard) continue;
      const start = performance.now();
      await client.start(ChainFlow, id, 1);
      longest = Math.max(longest, performance.now() - start);
      await sleep(5);
    }
  };
  const lanes = Promise.all(Array.from({ length: shards }, (_, shard) => lane(shard)));
  return {
    /** When every shard has answered again. */
    end: async () => {
      await sleep(300);
      over = true;
      await lanes;
      return longest;
    },
  };
}

async function shared(...engines: BenchProcess[]): Promise<void> {
  for (;;) {
    const owned = await Promise.all(engines.map((engine) => engine.shards()));
    if (owned.every((each) => each.length === shards / engines.length)) return;
    await sleep(50);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

main();
