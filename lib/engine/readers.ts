import type { Event, RunState } from '../core';
import type { Read } from '../dispatch';
import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import { describeRun } from './describe-run';
import { attributeSeen, attributesOf, hasEnded, outcomeOf } from './description';
import { storedEvents } from './stored-events';

/** A read that cannot be answered yet: the run is open, or the execution has not ended. */
export const notYet = Symbol('not yet');

/** Answers what can be read from a run's state, or `notYet`. Throws `FLOW_NOT_FOUND` and `STEP_NOT_FOUND`. */
export function readRun(
  run: RunState | undefined,
  read: Read,
  blockedOf: (run: RunState) => readonly string[] = () => [],
): unknown {
  if (!run) {
    const which = read.runId === null ? '' : ` with the run ${read.runId}`;
    throw new HoldfastError('FLOW_NOT_FOUND', `There is no Flow ${JSON.stringify(read.flowId)}${which}.`, {
      where: read.flowId,
    });
  }
  switch (read.what.kind) {
    case 'describe':
      return describeRun(run, blockedOf(run));
    case 'attributes':
      return attributesOf(run);
    case 'outcome':
      return run.isOpen ? notYet : outcomeOf(run);
    case 'attribute': {
      const seen = attributeSeen(run, read.what.address);
      return run.isOpen && seen.cursor === read.what.seen ? notYet : seen;
    }
    case 'stepEnd': {
      const { nextRunId, status } = run.head;
      // What was open has gone along to the next run.
      if (status === 'continuedAsNew') return { nextRunId };
      if (hasEnded(run, read.what.execution)) return { nextRunId: null };
      if (run.isOpen) return notYet;
      if (nextRunId !== null) return { nextRunId };
      throw new HoldfastError(
        'STEP_NOT_FOUND',
        `${JSON.stringify(read.flowId)} closed as ${run.head.status} and never scheduled ${read.what.execution}.`,
        { where: read.flowId },
      );
    }
    case 'schedule':
    case 'schedules':
      throw new TypeError(`${read.what.kind} is not read from a run`);
    case 'history':
      return { runId: run.head.runId, events: run.head.events };
  }
}

/** Stored events of a run from a number on, with their numbers, and whether there are more. */
export async function readHistory(
  store: ShardStore,
  run: RunState,
  from: number,
  limit: number,
): Promise<{ runId: string; events: [number: number, event: Event][]; more: boolean }> {
  const { runId, base } = run.head;
  const events: [number, Event][] = [];
  for await (const [number, event] of storedEvents(store, runId, base + from)) {
    if (events.length === limit) return { runId, events, more: true };
    events.push([number - base, event]);
  }
  return { runId, events, more: false };
}
