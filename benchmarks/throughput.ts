import { performance } from 'node:perf_hooks';
import { RedisServer } from '../test/support/redis-server';
import { measure, measureRounds, printTable, type Round, ratio, summary } from './measure';
import { cluster, embedded, peer, type System } from './system';

const flows = 500;
const stepsPerFlow = 5;
const inFlight = 64;
const rounds = Number(process.env.ROUNDS ?? 5);
const warmUp = 2;

/** Many short Flows, 64 at a time: what gets done, and how long each Flow takes meanwhile. */
async function main() {
  const server = await RedisServer.start();
  const contestants: [string, () => Promise<System>][] = [
    ['file: SYNC', () => embedded('file')],
    ['lmdb: SYNC', () => embedded('lmdb')],
    ['Redis + file: SYNC', () => cluster(server.url)],
    ['plain BullMQ', () => peer('bullmq', server.url)],
    ['bare Redis Stream', () => peer('stream', server.url)],
  ];
  const measured = new Map<string, Round[]>();
  for (const [name, open] of contestants) {
    const system = await open();
    const each = (n: number) => measure(system, flows * stepsPerFlow, () => load(system, n));
    measured.set(name, await measureRounds(rounds, warmUp, each));
    await system.close();
  }
  await server.stop();
  const what = `${flows} flows of ${stepsPerFlow} no-op steps, ${inFlight} in flight`;
  console.log(`throughput: ${what}, median of ${rounds} rounds, Node ${process.version}\n`);
  const bull = measured.get('plain BullMQ')!;
  const stream = measured.get('bare Redis Stream')!;
  printTable(
    [...measured].map(([name, all]) => ({
      ...summary(name, all, 'flow'),
      'time to BullMQ': ratio(all, bull),
      'to a Stream': ratio(all, stream),
    })),
  );
}

async function load(system: System, round: number): Promise<number[]> {
  const took: number[] = [];
  let next = 0;
  const lane = async () => {
    while (next < flows) {
      const id = `flow ${round} ${next++}`;
      const start = performance.now();
      await system.chain(id, stepsPerFlow);
      took.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  await system.entered();
  return took;
}

main();
