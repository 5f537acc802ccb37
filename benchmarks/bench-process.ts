/** A process of a benchmark: an engine, a worker, or the worker of a peer, told by its parent what to be. */
import 'reflect-metadata';
import { openEngine, openWorker } from '../lib/cluster';
import { bullWorker } from './bull-peer';
import { ChainFlow, entered, QueuedChainFlow } from './flows';
import { streamWorker } from './stream-peer';
import type { Counters } from './system';

export interface BenchRole {
  readonly role: 'engine' | 'worker' | 'bullmq' | 'stream';
  readonly redis: string;
  readonly shards: number;
  readonly store: string;
  readonly taskQueues?: readonly string[];
}

interface Opened {
  stats?(): { readonly writes: number; readonly bytes: number };
  readonly shards?: readonly number[];
  close(): Promise<void>;
}

async function open({ role, redis, shards, store, taskQueues }: BenchRole): Promise<Opened> {
  const ended = (id: string) => process.send!({ kind: 'ended', id });
  if (role === 'bullmq') return bullWorker(redis, ended);
  if (role === 'stream') return streamWorker(redis, ended);
  const common = { redis, shards, signals: false };
  if (role === 'worker') {
    return openWorker({ ...common, flows: [ChainFlow, QueuedChainFlow], ...(taskQueues && { taskQueues }) });
  }
  const engine = await openEngine({ ...common, store });
  return {
    stats: () => engine.stats,
    get shards() {
      return engine.shards;
    },
    close: () => engine.close(),
  };
}

async function main(role: BenchRole): Promise<void> {
  const opened = await open(role);
  process.on('message', (asked) => {
    if (asked === 'shards') process.send!({ kind: 'answer', answer: opened.shards });
    if (asked === 'entered') process.send!({ kind: 'answer', answer: entered.splice(0) });
    if (asked !== 'counters') return;
    const { user, system } = process.cpuUsage();
    const { writes = 0, bytes = 0 } = opened.stats?.() ?? {};
    process.send!({ kind: 'answer', answer: { cpuMs: (user + system) / 1_000, writes, bytes } satisfies Counters });
  });
  const orphaned = () => process.exit(1);
  process.on('disconnect', orphaned);
  process.once('SIGTERM', async () => {
    await opened.close();
    process.exit(0);
  });
  process.send!({ kind: 'ready' });
}

main(JSON.parse(process.argv[2]!) as BenchRole).catch((error) => {
  console.error(error);
  process.exit(1);
});
