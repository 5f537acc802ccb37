import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Totals } from './traffic';

/** One look at everything that could grow. */
export interface Reading {
  readonly seconds: number;
  readonly totals: Totals;
  /** Of the processes that live from beginning to end; undefined while one stands still. */
  readonly engine: Memory | undefined;
  readonly worker: Memory | undefined;
  readonly client: Memory | undefined;
  /** Files of the log, and what else the store holds. */
  readonly log: Objects;
  /** Files of the log that should be gone by now. */
  readonly left: number;
  readonly tables: Objects;
  /** Entries in all streams, and keys. */
  readonly entries: number;
  readonly keys: number;
  /** The longest opening of a shard since the last reading. */
  readonly openMs: number | undefined;
}

interface Memory {
  readonly rssBytes: number;
  readonly heapBytes: number;
}

export interface Objects {
  readonly count: number;
  readonly bytes: number;
}

/** What lies in the folder of a SlateDB store: its logs, or its tables and manifests. */
export async function objectsIn(
  folder: string,
  logKeptSeconds: number,
): Promise<Pick<Reading, 'log' | 'left' | 'tables'>> {
  const log = { count: 0, bytes: 0 };
  const tables = { count: 0, bytes: 0 };
  // An owner looks for what is old when it has had a shard for 20 s, and the shards change hands.
  const expected = Date.now() - (logKeptSeconds + 200) * 1_000;
  let left = 0;
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  for (const name of names) {
    const file = await stat(join(folder, name)).catch(() => undefined);
    if (!file?.isFile()) continue;
    const kind = name.includes('/wal/') ? log : tables;
    if (kind === log && file.mtimeMs < expected) left++;
    kind.count++;
    kind.bytes += file.size;
  }
  return { log, tables, left };
}

/** Entries of all streams of the namespace, and keys; undefined while Redis is away. */
export async function entriesIn(redis: Redis): Promise<{ entries: number; keys: number }> {
  try {
    const keys = await redis.keys('*');
    const streams = keys.filter((key) => /:(in|to|steps|calls):/.test(key));
    const lengths = await Promise.all(streams.map((key) => redis.xlen(key)));
    return { entries: lengths.reduce((sum, length) => sum + length, 0), keys: keys.length };
  } catch {
    return { entries: 0, keys: 0 };
  }
}

const mebi = 1024 * 1024;

export const columns = [
  ...['s', 'flows', 'messages', 'rpcs', 'repeats', 'engine RSS/heap', 'worker RSS/heap', 'client RSS/heap'],
  ...['log files', 'log MiB', 'left', 'tables', 'tables MiB', 'entries', 'keys', 'open ms'],
];

export function rowOf(reading: Reading): string[] {
  const { seconds, totals, engine, worker, client, log, left, tables, entries, keys, openMs } = reading;
  const memory = (of: Memory | undefined) =>
    of ? `${(of.rssBytes / mebi).toFixed(0)}/${(of.heapBytes / mebi).toFixed(1)}` : 'paused';
  return [
    ...[seconds.toFixed(0), totals.ended, totals.consumed, totals.deposits, totals.repeats].map(String),
    ...[engine, worker, client].map(memory),
    ...[String(log.count), (log.bytes / mebi).toFixed(1), String(left)],
    ...[String(tables.count), (tables.bytes / mebi).toFixed(1)],
    ...[String(entries), String(keys), openMs === undefined ? '' : openMs.toFixed(0)],
  ];
}

export interface Trend {
  readonly what: string;
  readonly before: number;
  readonly after: number;
  readonly allowed: number;
  readonly isFlat: boolean;
}

/** Ids of requests are remembered for 24 h (I1): what one may take in the memory of its engine. */
const rememberedBytes = 700;

/**
 * The last third of the time against the one before, by medians; the first is warm-up. The last may be above by a share and
 * a fixed amount.
 */
export function trendsOf(readings: readonly Reading[]): Trend[] {
  const third = Math.floor(readings.length / 3);
  const [before, after] = [readings.slice(third, 2 * third), readings.slice(2 * third)];
  const trend = (
    what: string,
    of: (reading: Reading) => number | undefined,
    [share, fixed]: readonly [share: number, fixed: number],
    over = medianOf,
  ): Trend => {
    const [a, b] = [over(before.map(of)), over(after.map(of))];
    const allowed = a * (1 + share) + fixed;
    return { what, before: a, after: b, allowed, isFlat: b <= allowed };
  };
  const remembered = ({ totals }: Reading) => totals.started + totals.published + totals.deposits;
  const more = medianOf(after.map(remembered)) - medianOf(before.map(remembered));
  const idsMebi = (more * rememberedBytes) / mebi;
  return [
    trend('engine RSS, MiB', ({ engine }) => inMebi(engine?.rssBytes), [0.2, 32 + idsMebi]),
    trend('engine heap, MiB', ({ engine }) => inMebi(engine?.heapBytes), [0.05, 2 + idsMebi]),
    ...(['worker', 'client'] as const).flatMap((process) => [
      trend(`${process} RSS, MiB`, (reading) => inMebi(reading[process]?.rssBytes), [0.2, 24]),
      trend(`${process} heap, MiB`, (reading) => inMebi(reading[process]?.heapBytes), [0.05, 2]),
    ]),
    // An owner that is killed while it removes files leaves a few for good.
    trend('old log files', ({ left }) => left, [0, 20]),
    trend('tables and manifests', ({ tables }) => tables.count, [0.25, 40]),
    trend('tables, MiB', ({ tables }) => inMebi(tables.bytes), [0.25, 16]),
    trend('entries in streams', ({ entries }) => entries, [1, 500]),
    trend('keys in Redis', ({ keys }) => keys, [0.25, 60]),
    trend('opening a shard, ms', ({ openMs }) => openMs, [1, 500], leastOf),
  ];
}

function inMebi(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / mebi;
}

function medianOf(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  return known[Math.floor(known.length / 2)] ?? 0;
}

/** Of times, what the machine's other work has the least part in. */
function leastOf(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 ? Math.min(...known) : 0;
}
