import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type FlowClass, Holdfast } from '../index';

/** One round: what it took, and how long each of its units (steps or flows) took. */
export interface Round {
  readonly steps: number;
  readonly elapsedMs: number;
  readonly cpuMs: number;
  readonly writes: number;
  readonly bytes: number;
  readonly unitMs: readonly number[];
}

export const stores = ['file', 'lmdb'] as const;

/** Runs `run` with a Holdfast of its own on a new folder, which is removed afterwards. */
export async function onStore<T>(
  scheme: (typeof stores)[number],
  flows: readonly FlowClass[],
  run: (holdfast: Holdfast) => Promise<T>,
): Promise<T> {
  // HOLDFAST_BENCH_DIR: where a temporary folder is in memory, it says nothing about a disk.
  const folder = await mkdtemp(join(process.env.HOLDFAST_BENCH_DIR ?? tmpdir(), 'holdfast-bench-'));
  try {
    const holdfast = await Holdfast.open({ flows, store: `${scheme}:${folder}` });
    try {
      return await run(holdfast);
    } finally {
      await holdfast.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Measures one round; `run` gives the milliseconds of each unit. */
export async function measure(
  holdfast: Holdfast,
  steps: number,
  run: () => Promise<readonly number[]>,
): Promise<Round> {
  const before = holdfast.stats;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const unitMs = await run();
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const after = holdfast.stats;
  return {
    steps,
    elapsedMs,
    cpuMs: (user + system) / 1_000,
    writes: after.writes - before.writes,
    bytes: after.bytes - before.bytes,
    unitMs,
  };
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
