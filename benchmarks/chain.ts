import { performance } from 'node:perf_hooks';
import { RedisServer } from '../test/support/redis-server';
import { measure, measureRounds, printTable, type Round, ratio, summary } from './measure';
import { type ChainOptions, cluster, embedded, peer, type System } from './system';

const steps = 100;
const rounds = Number(process.env.ROUNDS ?? 9);
const warmUp = 3;

const inOneProcess: [string, ChainOptions][] = [
  ['SYNC', { durability: 'SYNC' }],
  ['ASYNC', { durability: 'ASYNC' }],
];
const overRedis: [string, ChainOptions][] = [
  ['SYNC, short cut', { durability: 'SYNC' }],
  ['SYNC, queued', { durability: 'SYNC', queued: true }],
  ['ASYNC', { durability: 'ASYNC' }],
];

/** One chain of 100 steps that do nothing, one after the other: the latency of a durable step. */
async function main() {
  const server = await RedisServer.start();
  const contestants: [string, () => Promise<System>, [string, ChainOptions][]][] = [
    ['file', () => embedded('file'), inOneProcess],
    ['lmdb', () => embedded('lmdb'), inOneProcess],
    ['Redis + file', () => cluster(server.url), overRedis],
    ['plain BullMQ', () => peer('bullmq', server.url), [['Redis only', {}]]],
    ['bare Redis Stream', () => peer('stream', server.url), [['Redis only', {}]]],
  ];
  const measured = new Map<string, Round[]>();
  for (const [name, open, ways] of contestants) {
    const system = await open();
    for (const [way, options] of ways) {
      const each = (n: number) => measure(system, steps, () => chain(system, `${way} ${n}`, options));
      measured.set(`${name}: ${way}`, await measureRounds(rounds, warmUp, each));
    }
    await system.close();
  }
  await server.stop();
  console.log(`chain: ${steps} no-op steps in one flow, median of ${rounds} rounds, Node ${process.version}\n`);
  const bull = measured.get('plain BullMQ: Redis only')!;
  const stream = measured.get('bare Redis Stream: Redis only')!;
  printTable(
    [...measured].map(([name, all]) => ({
      ...summary(name, all, 'step'),
      'time to BullMQ': ratio(all, bull),
      'to a Stream': ratio(all, stream),
    })),
  );
}

async function chain(system: System, id: string, options: ChainOptions): Promise<number[]> {
  await system.entered();
  await system.chain(id, steps, options);
  const end = performance.timeOrigin + performance.now();
  const entered = await system.entered();
  return entered.map((at, i) => (entered[i + 1] ?? end) - at);
}

main();
