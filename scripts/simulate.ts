import 'reflect-metadata';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runSeed, type SimulationOptions, type SimulationReport, shrink } from '../lib/testing/simulation';
import { CompiledTree } from '../test/simulation/compiled-tree';

import type { RangeResult } from '../test/simulation/seed-thread';
import { runSeeds } from '../test/simulation/seed-threads';

// Runs seeds of the simulation: `npm run simulate -- --seeds 1000 --first 1`. A seed that breaks something is shrunk, shown
// with what happened in it, and kept for the tests. See docs/simulation.md.

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    first: { type: 'string', default: '1' },
    threads: { type: 'string', default: String(cpus().length) },
    /** Shows the whole log of one seed instead. */
    log: { type: 'string' },
    /** With --log: only the first so many faults strike. */
    faults: { type: 'string' },
    /** With --log: only the first so many flows. */
    flows: { type: 'string' },
  },
});

const regressions = join(__dirname, '../test/simulation/seeds.json');
const shownLines = 80;

async function main(): Promise<void> {
  if (flags.log !== undefined) return showLog(Number(flags.log));
  const count = Number(flags.seeds);
  const first = Number(flags.first);
  const startedAt = Date.now();
  const totals = { seeds: 0, events: 0, historyEvents: 0, bodies: 0 };
  const faults = new Map<string, number>();
  const violations: SimulationReport[] = [];
  let shownAt = startedAt;
  const add = (result: RangeResult) => {
    totals.seeds += result.seeds;
    totals.events += result.events;
    totals.historyEvents += result.historyEvents;
    totals.bodies += result.bodies;
    for (const [kind, struck] of result.faults) faults.set(kind, (faults.get(kind) ?? 0) + struck);
    for (const report of result.violations) console.log(told(report));
    violations.push(...result.violations);
    if (Date.now() - shownAt < 5_000) return;
    shownAt = Date.now();
    console.log(
      `${totals.seeds} of ${count} seeds, ${rate(totals.seeds, startedAt)} seeds/s, ${violations.length} broken`,
    );
  };
  const tree = new CompiledTree();
  await runSeeds({
    thread: tree.thread,
    threads: Number(flags.threads),
    first,
    count,
    stopsAtViolation: false,
    onResult: add,
  });
  tree.remove();

  console.log(
    `\n${totals.seeds} seeds in ${Math.round((Date.now() - startedAt) / 1_000)} s, ${rate(totals.seeds, startedAt)} seeds/s`,
  );
  console.log(`${totals.events} events, ${totals.historyEvents} of them in histories, ${totals.bodies} handlers run`);
  console.log('faults injected:');
  for (const [kind, struck] of [...faults].sort((a, b) => b[1] - a[1])) console.log(`  ${kind.padEnd(18)} ${struck}`);
  if (violations.length === 0) return;
  violations.sort((a, b) => a.seed - b.seed);
  await showShrunk(violations[0]!);
  keep(violations);
  process.exitCode = 1;
}

async function showLog(seed: number): Promise<void> {
  const report = await runSeed({ ...limitsOf(seed), logs: true });
  console.log(report.log.join('\n'));
  if (report.violation) process.exitCode = 1;
}

function limitsOf(seed: number): SimulationOptions {
  return {
    seed,
    ...(flags.faults !== undefined && { atMost: Number(flags.faults) }),
    ...(flags.flows !== undefined && { flows: Number(flags.flows) }),
  };
}

async function showShrunk(found: SimulationReport): Promise<void> {
  const { options, report } = await shrink(found, runSeed);
  const { log, violation } = await runSeed({ ...options, logs: true });
  const kinds = [...report.faults].map(([kind, struck]) => `${kind} ${struck}`).join(', ') || 'no fault';
  console.log(`\nseed ${found.seed}, shrunk to ${report.flows} flows and ${report.struck} faults (${kinds}):`);
  if (log.length > shownLines) console.log(`… ${log.length - shownLines} lines`);
  console.log(log.slice(-shownLines).join('\n'));
  console.log(`\n${violation?.rule}: ${violation?.what}`);
}

/** Adds seeds to those that the tests run. */
function keep(broken: readonly SimulationReport[]): void {
  const kept = JSON.parse(readFileSync(regressions, 'utf8')) as { seed: number; found: string }[];
  for (const { seed, violation } of broken.slice(0, 20)) {
    if (kept.some((each) => each.seed === seed)) continue;
    kept.push({ seed, found: `${violation!.rule}: ${violation!.what.slice(0, 200)}` });
  }
  writeFileSync(regressions, `${JSON.stringify(kept, null, 2)}\n`);
}

function told({ seed, violation }: SimulationReport): string {
  return `seed ${seed} breaks ${violation!.rule}: ${violation!.what}`;
}

function rate(seeds: number, since: number): string {
  return ((seeds * 1_000) / (Date.now() - since)).toFixed(1);
}

main();
