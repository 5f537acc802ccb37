/** One process of a soak: an engine, a worker, or the client with its load, told by its parent what to be. */
import 'reflect-metadata';
import { openClient, openEngine, openWorker } from '../../lib/cluster';
import type { Logger, ShardStore, StateStore } from '../../lib/ports';
import { SlateStateStore } from '../../lib/store/slate-state-store';
import { SoakFlow } from './soak-flow';
import { type Totals, Traffic } from './traffic';

export interface SoakRole {
  readonly role: 'engine' | 'worker' | 'client';
  readonly redis: string;
  readonly shards: number;
  readonly store: string;
  readonly leaseMs: number;
  readonly logKept: string;
  readonly seed: number;
  readonly lanes: number;
  readonly retention: string;
}

/** What a process says of itself when it is asked. */
export interface Figures {
  readonly rssBytes: number;
  /** After a collection. */
  readonly heapBytes: number;
  readonly isHealthy: boolean;
  /** Milliseconds that each opening of a shard took, since the last asking. */
  readonly openedMs: readonly number[];
  /** Calls that wait on task queues of this engine's shards. */
  readonly waiting: number;
  readonly totals?: Totals;
  readonly wrong?: readonly string[];
}

class TimedStore implements StateStore {
  openedMs: number[] = [];

  constructor(private readonly store: StateStore) {}

  get location(): string {
    return this.store.location;
  }

  async open(shard: number): Promise<ShardStore> {
    const start = performance.now();
    const opened = await this.store.open(shard);
    this.openedMs.push(performance.now() - start);
    return opened;
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

const ignore = () => {};
const logger: Logger = {
  debug: ignore,
  info: process.env.HOLDFAST_TEST_LOG ? (what, details) => console.error(what, details) : ignore,
  warn: process.env.HOLDFAST_TEST_LOG ? (what, details) => console.error(what, details) : ignore,
  error: (what, details) => console.error(new Date().toISOString(), what, details),
};

type Own = Partial<Figures> & { readonly isHealthy: boolean };

async function open(role: SoakRole): Promise<{ figures(): Own; close(): Promise<void> | void }> {
  const { redis, shards, leaseMs: lease, seed, lanes, retention } = role;
  const common = { redis, shards, logger, signals: false };
  if (role.role === 'engine') {
    const store = new TimedStore(await SlateStateStore.connect({ url: role.store, logKept: role.logKept }));
    const engine = await openEngine({ ...common, store, lease });
    const waiting = () => engine.queues.reduce((sum, queue) => sum + queue.waiting, 0);
    return {
      figures: () => ({ isHealthy: engine.isHealthy, openedMs: store.openedMs.splice(0), waiting: waiting() }),
      close: () => engine.close(),
    };
  }
  if (role.role === 'worker') {
    const worker = await openWorker({ ...common, flows: [SoakFlow], grace: '5s' });
    return { figures: () => ({ isHealthy: worker.isHealthy }), close: () => worker.close() };
  }
  const opened = await openClient({ ...common, flows: [SoakFlow] });
  const traffic = new Traffic(opened.client, seed, lanes, retention);
  process.on('message', (asked) => {
    if (asked === 'finish') traffic.finish();
  });
  traffic.run().then(() => process.send!({ kind: 'finished' }));
  const { totals, wrong } = traffic;
  return { figures: () => ({ isHealthy: opened.isHealthy, totals, wrong }), close: () => opened.close() };
}

async function main(role: SoakRole): Promise<void> {
  const opened = await open(role);
  process.on('message', (asked) => {
    if (asked !== 'figures') return;
    globalThis.gc?.();
    const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
    const figures: Figures = { rssBytes, heapBytes, openedMs: [], waiting: 0, ...opened.figures() };
    process.send!({ kind: 'figures', figures });
  });
  const orphaned = () => process.exit(1);
  process.on('disconnect', orphaned);
  process.once('SIGTERM', async () => {
    await opened.close();
    process.off('disconnect', orphaned);
    process.disconnect();
  });
  process.on('unhandledRejection', (reason) => process.send!({ kind: 'unhandled', reason: String(reason) }));
  process.send!({ kind: 'ready' });
}

main(JSON.parse(process.argv[2]!) as SoakRole).catch((error) => {
  console.error(error);
  process.exit(1);
});
