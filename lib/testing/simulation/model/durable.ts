import type { Event } from '../../../core';
import type { WriteBatch } from '../../../ports';
import { keys } from '../../../store/keys';
import { decodeRecord } from '../../../values';
import type { DiskShard } from '../disk';
import type { Programs } from '../workload/program';
import type { TokenModel, Witness } from './check';
import { Children } from './child-model';
import { takeEvent } from './run-events';
import { RunModel } from './run-model';

/**
 * What is durable, as an outsider reads it from the histories in the store: every event is judged by the model at the moment
 * its write takes effect. What anybody is told is held against this.
 */
export class Durable {
  readonly runs = new Map<string, RunModel>();
  readonly byFlow = new Map<string, RunModel[]>();
  readonly histories = new Map<string, Event[]>();
  readonly tokens = new Map<string, TokenModel>();
  readonly children = new Children();
  private readonly wakes = new Map<string, Set<number>>();
  private readonly clocks = new Map<number, number>();

  constructor(private readonly programs: Programs) {}

  take(shard: DiskShard, batch: WriteBatch, witness: Witness): void {
    const touched = new Set<RunModel>();
    const clock = decodeRecord(batch.get(keys.clock)!) as number;
    let [earliest, latest] = [Number.POSITIVE_INFINITY, 0];
    for (const [key, bytes] of batch) {
      if (bytes === undefined) this.takeRemoval(key, clock, witness);
      if (!key.startsWith('h/') || bytes === undefined) continue;
      const [, runId, number] = key.split('/') as [string, string, string];
      for (const [i, event] of (decodeRecord(bytes) as Event[]).entries()) {
        earliest = Math.min(earliest, event.at);
        latest = Math.max(latest, event.at);
        const run = this.takeEvent(runId, Number(number) + i, event, witness);
        if (run) touched.add(run);
      }
    }
    this.checkClock(shard.shard, earliest, latest, witness);
    for (const key of batch.keys()) if (key.startsWith('w/')) this.takeWake(key, batch.get(key) !== undefined);
    for (const run of touched) {
      const neglected = run.neglected(witness) ?? this.unfound(run, clock);
      if (neglected) witness.violated('settle', `${run.program.flowId}: ${neglected}`);
    }
  }

  latest(flowId: string): RunModel | undefined {
    return this.byFlow.get(flowId)?.at(-1);
  }

  private takeEvent(runId: string, number: number, event: Event, witness: Witness): RunModel | undefined {
    if (event.kind === 'FlowStarted') this.begin(event, witness);
    if (event.kind === 'RunContinued') this.continue(event, witness);
    const run = this.runs.get(runId);
    if (!run || number !== run.events + 1) {
      const flowId = run?.program.flowId ?? 'an unknown run';
      witness.violated('P6', `${flowId}: event ${number} (${event.kind}) follows event ${run?.events ?? 0}`);
      return undefined;
    }
    this.histories.get(runId)!.push(event);
    takeEvent(run, event, witness);
    if (run.program.calls.size > 0) {
      const state = run.callLook();
      if (run.pastStates.at(-1) !== state) run.pastStates.push(state);
    }
    return run;
  }

  /** The next run of a chain begins in the write that closes the one before (N2). */
  private continue(event: Event & { kind: 'RunContinued' }, witness: Witness): void {
    const before = this.runs.get(event.previousRunId);
    if (before?.nextRunId !== event.runId || before.next) {
      witness.violated('N2', `${event.runId} continues ${event.previousRunId}, which does not end with it`);
      return;
    }
    const run = before.continueAs(event.runId, event.at);
    this.runs.set(run.runId, run);
    this.byFlow.get(run.program.flowId)!.push(run);
    this.histories.set(run.runId, []);
  }

  /** Nothing of a run is removed before its time (N5), or while a parent does not know how it ended (U5). */
  private takeRemoval(key: string, now: number, witness: Witness): void {
    const run = key.startsWith('r/') ? this.runs.get(key.slice(2)) : undefined;
    if (!run) return;
    run.isRemoved = true;
    const { flowId } = run.program;
    const due = run.closedAt + run.retentionMs;
    if (run.isOpen || now < due) {
      witness.violated('N5', `${flowId}: ${run.runId} was removed at ${now}, and was to be kept until ${due}`);
    }
    if (run.status === 'continuedAsNew') return;
    const waiting = this.children.of(run).find(({ outcome, parent }) => outcome === null && parent.latest.isOpen);
    if (waiting) witness.violated('U5', `${flowId}: it was removed before ${waiting.key} heard how it ended`);
  }

  private begin(event: Event & { kind: 'FlowStarted' }, witness: Witness): void {
    const { flowId, runId, requestId } = event;
    const runs = this.byFlow.get(flowId) ?? [];
    if (this.runs.has(runId)) witness.violated('F5', `${flowId}: the run ${runId} began twice`);
    if (runs.some((run) => run.isOpen)) witness.violated('F3', `${flowId}: a run began while another was open`);
    if (runs.some((run) => run.requestId === requestId)) {
      witness.violated('F5', `${flowId}: the request ${requestId} started two runs`);
    }
    const run = new RunModel(this.programs.get(flowId)!, runId, requestId, event.at, runId);
    this.runs.set(runId, run);
    this.byFlow.set(flowId, [...runs, run]);
    this.histories.set(runId, []);
  }

  private takeWake(key: string, isThere: boolean): void {
    const [, due, runId] = key.split('/') as [string, string, string];
    const wakes = this.wakes.get(runId) ?? new Set();
    if (isThere) wakes.add(Number(due));
    else wakes.delete(Number(due));
    this.wakes.set(runId, wakes);
  }

  /** What a new owner would not find in time. */
  private unfound(run: RunModel, now: number): string | undefined {
    const wakes = [...(this.wakes.get(run.runId) ?? [])];
    if (wakes.length > 1) return `a new owner finds it ${wakes.length} times`;
    const due = run.dueAt(now);
    if (due === undefined || (wakes[0] ?? Number.POSITIVE_INFINITY) <= due) return undefined;
    return `a new owner finds it at ${wakes[0]}, and it is due at ${due}`;
  }

  /** The clock of a shard never runs backwards, over owners too (W6). */
  private checkClock(shard: number, earliest: number, latest: number, witness: Witness): void {
    const before = this.clocks.get(shard) ?? 0;
    if (earliest < before) witness.violated('W6', `the clock of shard ${shard} went from ${before} to ${earliest}`);
    this.clocks.set(shard, Math.max(before, latest));
  }
}
