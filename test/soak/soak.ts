import { prefixRange } from '../../lib/ports';
import { SlateStateStore } from '../../lib/store/slate-state-store';
import { randomFrom } from '../faults/random';
import { eventually } from '../support/eventually';
import { RedisServer } from '../support/redis-server';
import { temporaryFolder } from '../support/temporary-folder';
import { Disturbances, type DisturbedCluster, type Pace } from './disturbances';
import { entriesIn, objectsIn, type Reading, type Trend, trendsOf } from './readings';
import { SoakNode } from './soak-node';
import type { Figures, SoakRole } from './soak-process';
import { noTotals, type Totals } from './traffic';

export interface SoakOptions extends Pace {
  readonly seconds: number;
  readonly seed: number;
  readonly lanes: number;
  readonly leaseMs: number;
  readonly logKeptSeconds: number;
  readonly retention: string;
  readonly readEveryMs: number;
  onReading?(reading: Reading): void;
}

export interface SoakReport {
  readonly totals: Totals;
  readonly disturbances: ReadonlyMap<string, number>;
  readonly readings: readonly Reading[];
  readonly trends: readonly Trend[];
  /** Everything that is not as it must be. */
  readonly wrong: readonly string[];
}

const shards = 4;
/** From the last disturbance to the end of the last Flow. */
const endMs = 200_000;

/** Runs load against a cluster of real processes while it is disturbed, and looks at what is left in the end. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const folder = await temporaryFolder();
  const server = await RedisServer.start();
  const { seed, lanes, leaseMs, logKeptSeconds, retention } = options;
  const store = `file://${folder.path}`;
  const common = { redis: server.url, shards, store, leaseMs, logKept: `${logKeptSeconds}s`, seed, lanes, retention };
  const started = new Set<SoakNode>();
  const start = async (role: SoakRole['role']) => {
    const node = await SoakNode.start({ ...common, role });
    started.add(node);
    return node;
  };
  try {
    const [engine, worker, otherEngine, otherWorker] = await Promise.all([
      ...[start('engine'), start('worker'), start('engine'), start('worker')],
    ]);
    const cluster: DisturbedCluster = {
      server,
      engines: [engine!, otherEngine!],
      workers: [worker!, otherWorker!],
      start,
    };
    const client = await start('client');
    const objects = () => objectsIn(folder.path, logKeptSeconds);
    const readings: Reading[] = [];
    const disturbances = new Disturbances(cluster, options, randomFrom(seed));
    const disturbing = disturbances.run();
    const began = Date.now();
    const wrong: string[] = [];
    let totals = noTotals;
    while (Date.now() - began < options.seconds * 1_000 && wrong.length === 0) {
      const next = Date.now() + options.readEveryMs;
      const reading = await read((Date.now() - began) / 1_000, cluster, client, objects);
      totals = reading.totals;
      readings.push(reading);
      options.onReading?.(reading);
      wrong.push(...((await client.ask())?.wrong ?? []));
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
    }
    disturbances.end();
    await disturbing;
    client.finish();
    await eventually(() => client.isFinished || !client.isAlive, endMs).catch(() => wrong.push('not all Flows ended'));
    const last = await client.ask();
    totals = last?.totals ?? totals;
    wrong.push(...(last?.wrong ?? ['the client has died']));
    wrong.push(...sumsOf(totals), ...(await leftInQueues(cluster)));
    wrong.push(...[...started].flatMap((node) => node.unhandled.map((reason) => `unhandled: ${reason}`)));
    for (const node of [client, ...cluster.workers, ...cluster.engines]) {
      const code = await node.stop();
      if (code !== 0) wrong.push(`a process ended with ${code}`);
    }
    wrong.push(...(await leftInStore(store, () => start('engine'))));
    return { totals, disturbances: disturbances.counts, readings, trends: trendsOf(readings), wrong };
  } finally {
    await Promise.all([...started].map((node) => node.kill()));
    await server.stop();
    await folder.remove();
  }
}

async function read(
  seconds: number,
  { server, engines, workers }: DisturbedCluster,
  client: SoakNode,
  lookAtObjects: () => ReturnType<typeof objectsIn>,
) {
  const [objects, redis, others, ...figures] = await Promise.all([
    ...([lookAtObjects(), entriesIn(server.redis)] as const),
    ...([Promise.all(engines.slice(1).map((node) => node.ask())), engines[0]!.ask(), workers[0]!.ask()] as const),
    client.ask(),
  ]);
  const [engine, worker, load] = figures;
  const opened = [engine, ...others].flatMap((each: Figures | undefined) => each?.openedMs ?? []);
  const openMs = opened.length > 0 ? Math.max(...opened) : undefined;
  // The load goes on being counted by its process.
  const totals = { ...(load?.totals ?? noTotals) };
  return { ...{ seconds, totals, engine, worker, client: load }, ...{ ...objects, ...redis, openMs } };
}

/** What was acknowledged and what was found at the ends of Flows. */
function sumsOf(totals: Totals): string[] {
  const { started, ended, published, consumed } = totals;
  return [
    ...(started === ended ? [] : [`${started} Flows were started and ${ended} have ended`]),
    ...(published === consumed ? [] : [`${published} messages were acknowledged and ${consumed} taken`]),
    ...(ended > 0 ? [] : ['nothing was done']),
  ];
}

/** Calls and messages that nobody waits for any more. */
async function leftInQueues({ server, engines }: DisturbedCluster): Promise<string[]> {
  const look = async () => {
    const figures = await Promise.all(engines.map((engine) => engine.ask()));
    const waiting = figures.reduce((sum, each) => sum + (each?.waiting ?? 0), 0);
    const streams = await server.redis.keys('*');
    const lengths = await Promise.all(
      streams.filter((key) => /:(in|steps|calls):/.test(key)).map(async (key) => [key, await server.redis.xlen(key)]),
    );
    const left = lengths.filter(([, length]) => length !== 0).map(([key, length]) => `${length} entries in ${key}`);
    return waiting > 0 ? [...left, `${waiting} calls wait`] : left;
  };
  let left: string[] = [];
  await eventually(async () => {
    left = await look();
    return left.length === 0;
  }, 30_000).catch(() => {});
  return left;
}

/** Records of runs in the store, all of which are closed and past their retention. */
async function leftInStore(url: string, startEngine: () => Promise<SoakNode>): Promise<string[]> {
  const late = Date.now() + 150_000;
  for (;;) {
    const counts = await recordsIn(url);
    const left = ['r', 't', 'h', 'w'].filter((kind) => (counts.get(kind) ?? 0) > 0);
    if (left.length === 0) return [];
    if (Date.now() > late) return left.map((kind) => `${counts.get(kind)} records ${kind}/ are left in the store`);
    const engine = await startEngine();
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await engine.stop();
  }
}

async function recordsIn(url: string): Promise<Map<string, number>> {
  const store = await SlateStateStore.connect({ url });
  const counts = new Map<string, number>();
  try {
    for (let shard = 0; shard < shards; shard++) {
      const opened = await store.open(shard);
      for (const prefix of ['f', 'i', 'r', 't', 'h', 'w', 'g']) {
        for await (const _ of opened.scan(prefixRange(`${prefix}/`))) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
      }
      await opened.close();
    }
  } finally {
    await store.close();
  }
  return counts;
}
