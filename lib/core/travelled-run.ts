import type { TimeTravelled } from './chain-event';
import { type Call, type Execution, untried } from './execution';
import { emptyTables, RunState, type RunTables } from './run-state';

/**
 * The run that goes on from the state of a moment that is past. Waits, messages, Attributes, counters and numbers are those
 * of that moment; every call that had been handed out is to be made anew, as a first attempt; SubFlows that were running are
 * attached again.
 */
export function travelledRun(source: RunState, event: TimeTravelled & { readonly at: number }): RunState {
  const { head } = source;
  const { runId, previousRunId, plan, deadlineAt, parents, lines, at, startBy } = event;
  const run = new RunState(
    {
      ...head,
      ...{ runId, previousRunId, plan, deadlineAt, parents, lines },
      chainId: runId,
      generation: 1,
      nextRunId: null,
      startedAt: at,
      events: head.events + 1,
      base: head.events,
      rolledTo: head.events,
    },
    copyOf(source.tables),
  );
  for (const execution of [...run.executions.values()]) {
    if (execution.call) beginAnew(run, execution, execution.call, at, startBy[execution.id] ?? null);
  }
  for (const child of [...run.children.values()]) {
    if (child.state === 'closed') continue;
    // A run of that id may have begun already.
    const newRunId = `${child.newRunId}.${runId}`;
    if (child.state === 'starting') run.children.set({ ...child, newRunId });
    else run.children.set({ ...child, newRunId, state: 'starting', runId: null, again: true });
  }
  return run;
}

/** Rows are new ones of the new run: all of them have to be saved. */
function copyOf(from: RunTables): RunTables {
  const tables = emptyTables();
  for (const name of Object.keys(tables) as (keyof RunTables)[]) {
    for (const [key, row] of from[name].entries()) tables[name].set(key, row as never);
  }
  return tables;
}

function beginAnew(run: RunState, execution: Execution, call: Call, at: number, startBy: number | null): void {
  if (call.state === 'delayed' || call.state === 'locked') return;
  run.dropKept(call.heartbeat);
  run.setExecution({
    ...execution,
    call: {
      ...call,
      ...untried,
      state: 'ready',
      since: at,
      dueAt: startBy,
    },
  });
}
