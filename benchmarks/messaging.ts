import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Holdfast } from '../index';
import { openStore } from '../lib/store/open-store';
import { printTable } from './measure';
import { messagingFlows } from './messaging/flows';
import {
  type Block,
  measureChildren,
  measureQueries,
  measureSignals,
  measureStream,
  measureUpdates,
  type Sample,
} from './messaging/measurements';
import { SizedStore } from './messaging/sized-store';

const schemes = ['file', 'lmdb'] as const;
const signals = Number(process.env.SIGNALS ?? 100_000);
const stream = { block: 1_000, inFlight: 64, historyLimit: 10_000 };

/** Queries, updates, children and signals, what they leave in the history, and what very many signals cost. */
async function main() {
  const rows: Record<string, string>[] = [];
  for (const scheme of schemes) {
    const folder = await mkdtemp(join(process.env.HOLDFAST_BENCH_DIR ?? tmpdir(), 'holdfast-bench-'));
    const store = new SizedStore(await openStore(`${scheme}:${folder}`));
    const holdfast = await Holdfast.open({ flows: messagingFlows, store });
    try {
      const results = await measureAll(holdfast, store);
      results.forEach(([what, result], i) => {
        if (!rows[i]) rows.push({ '': what });
        rows[i]![scheme] = result;
      });
    } finally {
      await holdfast.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    }
  }
  console.log(`messaging: one client, one Flow at a time, Node ${process.version}\n`);
  printTable(rows);
}

async function measureAll({ client }: Holdfast, store: SizedStore): Promise<[what: string, result: string][]> {
  // The first signals warm the code up.
  await measureStream(client, store, 'warm up', { ...stream, signals: 5_000 });

  const queries = await measureQueries(client, 'queries', 5);
  const updates = await measureUpdates(client, 'updates');
  const children = await measureChildren(client, 'children', 5, 100);
  const one = await measureSignals(client, store, 'one run', 120, null);
  const several = await measureSignals(client, store, 'several runs', 120, 30);
  const long = await measureStream(client, store, 'stream', { ...stream, signals });
  const { blocks } = long;
  const tenth = blocks.length / 10;
  const [first, last] = [blocks.slice(0, tenth), blocks.slice(-tenth)];
  return [
    ['5 queries: events before → after', `${queries.eventsBefore} → ${queries.eventsAfter}`],
    ['  ms each', queries.msEach.toFixed(2)],
    ['update −5: answer', `${updates.rejection.code}: ${updates.rejection.message}`],
    ['  events before → after', `${updates.eventsBefore} → ${updates.eventsRejected}`],
    ['update 500: answer', `${updates.previous} (the value before)`],
    ['  events, ms', `${updates.eventsAccepted}, ${updates.ms.toFixed(2)}`],
    ['5 children of 100 ms: at once', `${children.atOnce}`],
    ['  ms for all', children.ms.toFixed(0)],
    ['120 signals, one run: handled', `${one.count} of 120`],
    ['  events, history bytes', describeRuns(one.runs)],
    ['  ms each', one.msEach.toFixed(2)],
    ['120 signals, a new run every 30: handled', `${several.count} of 120`],
    ['  events, history bytes', describeRuns(several.runs)],
    ['  ms each', several.msEach.toFixed(2)],
    [`${signals.toLocaleString('en')} signals, history rolls: handled`, `${long.taken.count.toLocaleString('en')}`],
    ['  signals/s: all', perSecond(blocks)],
    ['  signals/s: first → last tenth', `${perSecond(first)} → ${perSecond(last)}`],
    ['  CPU ms each: first → last tenth', `${cpuEach(first)} → ${cpuEach(last)}`],
    ['  live KiB: after a tenth → at the end', series(long.samples, 'liveBytes')],
    ['  history KiB', series(long.samples, 'historyBytes')],
    ['  KiB of ids, kept for 24 h', series(long.samples, 'idBytes')],
  ];
}

function describeRuns(runs: readonly { events: number; bytes: number }[]): string {
  const [events, bytes] = [runs.map((run) => run.events), runs.map((run) => run.bytes)];
  const most = `${Math.max(...events)}, ${Math.max(...bytes)}`;
  return runs.length === 1 ? most : `${most} at most, in ${runs.length} runs`;
}

function perSecond(blocks: readonly Block[]): string {
  const ms = blocks.reduce((sum, block) => sum + block.ms, 0);
  return ((1_000 * stream.block * blocks.length) / ms).toFixed(0);
}

function cpuEach(blocks: readonly Block[]): string {
  const cpuMs = blocks.reduce((sum, block) => sum + block.cpuMs, 0);
  return (cpuMs / (stream.block * blocks.length)).toFixed(3);
}

function series(samples: readonly Sample[], what: keyof Sample): string {
  const kib = (bytes: number) => (bytes / 1_024).toFixed(0);
  return `${kib(samples[0]![what])} → ${kib(samples.at(-1)![what])}`;
}

main();
