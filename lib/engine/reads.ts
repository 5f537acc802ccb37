import type { RunState } from '../core';
import type { Read } from '../dispatch';
import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import type { Cells } from './cells';
import { checkCode } from './code-check';
import type { Plans } from './plans';
import { notYet, readHistory, readRun } from './readers';
import { RunRecord } from './run-record';
import { readSchedule, readSchedules } from './schedule-description';
import type { Watchers } from './watchers';
import type { WritePipeline } from './write-pipeline';

/** Answers reads: from memory once all they saw is durable (P4), or, for runs that are not in memory, from the store. */
export class Reads {
  constructor(
    private readonly store: ShardStore,
    private readonly plans: Plans,
    private readonly cells: Cells,
    private readonly pipeline: WritePipeline,
    private readonly watchers: Watchers,
    private readonly blockedOf: (run: RunState) => readonly string[],
    private readonly answer: (read: Read, value: unknown) => void,
  ) {}

  take(read: Read): void {
    if (read.what.kind === 'schedules') {
      const { after, limit } = read.what;
      return this.answerLater(read, readSchedules(this.store, after, limit));
    }
    if (read.what.kind === 'code') {
      const { plans, after, limit } = read.what;
      return this.answerLater(read, checkCode(this.store, this.plans, plans, after, limit));
    }
    const current = this.cells.get(read.flowId)?.flow.run;
    if (read.runId !== null && current?.head.runId !== read.runId) this.fromStore(read);
    else this.fromMemory(read);
  }

  /** Tries again what waits for something to happen in a flow. */
  recheck(flowId: string): void {
    for (const read of this.watchers.take(flowId)) this.take(read);
  }

  private fromMemory(read: Read): void {
    const cell = this.cells.get(read.flowId);
    const run = cell?.flow.run;
    const schedule = () => readSchedule(read.flowId, cell?.flow);
    const value = attempt(() => (read.what.kind === 'schedule' ? schedule() : readRun(run, read, this.blockedOf)));
    if (value === notYet) return this.watchers.add(read);
    this.pipeline.whenDurable(cell?.changedIn ?? 0, () => {
      const { what } = read;
      if (what.kind !== 'history' || value instanceof Error) this.answer(read, value);
      else this.answerLater(read, readHistory(this.store, run!, what.from, what.limit));
    });
    this.pipeline.hurry();
  }

  private fromStore(read: Read): void {
    const load = async () => {
      const run = (await RunRecord.load(this.store, read.runId!))?.run;
      const mine = run?.head.flowId === read.flowId ? run : undefined;
      const value = readRun(mine, read);
      const { what } = read;
      return what.kind === 'history' ? readHistory(this.store, mine!, what.from, what.limit) : value;
    };
    // The write that ends the run may be under way.
    this.pipeline.whenDurable(this.cells.get(read.flowId)?.changedIn ?? 0, () => this.answerLater(read, load()));
    this.pipeline.hurry();
  }

  private answerLater(read: Read, value: Promise<unknown>): void {
    value.then(
      (result) => this.answer(read, result),
      (error) => this.answer(read, error),
    );
  }
}

function attempt(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}
