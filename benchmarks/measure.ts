import { performance } from 'node:perf_hooks';
import type { System } from './system';

/** One round: what it took, and how long each of its units (steps or flows) took. */
export interface Round {
  readonly steps: number;
  readonly elapsedMs: number;
  readonly cpuMs: number;
  readonly writes: number;
  readonly bytes: number;
  readonly unitMs: readonly number[];
}

/** Measures one round; `run` gives the milliseconds of each unit. */
export async function measure(system: System, steps: number, run: () => Promise<readonly number[]>): Promise<Round> {
  const before = await system.counters();
  const start = performance.now();
  const unitMs = await run();
  const elapsedMs = performance.now() - start;
  const after = await system.counters();
  return {
    steps,
    elapsedMs,
    cpuMs: after.cpuMs - before.cpuMs,
    writes: after.writes - before.writes,
    bytes: after.bytes - before.bytes,
    unitMs,
  };
}

/** Rounds after a warm-up. */
export async function measureRounds(
  rounds: number,
  warmUp: number,
  round: (n: number) => Promise<Round>,
): Promise<Round[]> {
  const all: Round[] = [];
  for (let n = -warmUp; n < rounds; n++) {
    const result = await round(n);
    if (n >= 0) all.push(result);
  }
  return all;
}

/** A row of the table: the median over the rounds of each figure. */
export function summary(name: string, rounds: readonly Round[], unit: string): Record<string, string> {
  const over = (figure: (round: Round) => number) => median(rounds.map(figure));
  return {
    '': name,
    [`p50 ms/${unit}`]: over(({ unitMs }) => percentile(unitMs, 50)).toFixed(2),
    [`p99 ms/${unit}`]: over(({ unitMs }) => percentile(unitMs, 99)).toFixed(2),
    'steps/s': over(({ steps, elapsedMs }) => (1_000 * steps) / elapsedMs).toFixed(0),
    'CPU ms/step': over(({ steps, cpuMs }) => cpuMs / steps).toFixed(2),
    'flushes/step': over(({ steps, writes }) => writes / steps).toFixed(3),
    'bytes/step': over(({ steps, bytes }) => bytes / steps).toFixed(0),
  };
}

/** How many times as long a step takes as in another row, by the median round. */
export function ratio(rounds: readonly Round[], to: readonly Round[]): string {
  const msPerStep = (of: readonly Round[]) => median(of.map(({ elapsedMs, steps }) => elapsedMs / steps));
  return `${(msPerStep(rounds) / msPerStep(to)).toFixed(2)}×`;
}

export function printTable(rows: readonly Record<string, string>[]): void {
  const columns = Object.keys(rows[0]!);
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  console.log(line(columns));
  console.log(widths.map((width) => '─'.repeat(width)).join('──'));
  for (const row of rows) console.log(line(Object.values(row)));
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((percent / 100) * sorted.length))]!;
}

function median(values: readonly number[]): number {
  return percentile(values, 50);
}
