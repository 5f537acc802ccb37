import 'reflect-metadata';
import { parentPort } from 'node:worker_threads';
import { runSeed, type SimulationReport } from '../../lib/testing/simulation';

// A thread that runs the seeds it is sent and says what came out, until it is ended from outside.

// Stacks cost more than all else in a run that throws on purpose.
Error.stackTraceLimit = 0;

export interface SeedRange {
  readonly first: number;
  readonly count: number;
  /** Ends the range at its first violation. */
  readonly stopsAtViolation: boolean;
}

/** The reports of a range, added up. */
export interface RangeResult {
  readonly seeds: number;
  readonly events: number;
  readonly historyEvents: number;
  readonly bodies: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly SimulationReport[];
}

parentPort?.on('message', async ({ first, count, stopsAtViolation }: SeedRange) => {
  const result = { seeds: 0, events: 0, historyEvents: 0, bodies: 0 };
  const faults = new Map<string, number>();
  const violations: SimulationReport[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const report = await runSeed({ seed });
    result.seeds++;
    result.events += report.events;
    result.historyEvents += report.historyEvents;
    result.bodies += report.bodies;
    for (const [kind, struck] of report.faults) faults.set(kind, (faults.get(kind) ?? 0) + struck);
    if (!report.violation) continue;
    violations.push(report);
    if (stopsAtViolation) break;
  }
  parentPort!.postMessage({ ...result, faults, violations } satisfies RangeResult);
});
