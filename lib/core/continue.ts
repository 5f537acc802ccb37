import type { RunContinued } from './chain-event';
import { LockTable } from './lock-table';
import { nameOf } from './payload';
import { emptyTables, RunState } from './run-state';

/**
 * The next run of a chain, made from the one that ends: all that is open goes along as it is; the closed run keeps its
 * Attributes and outputs to be read, and nothing that is still to happen (N2). Numbers go on, so that snapshots, messages
 * and executions keep their meaning.
 */
export function continueRun(old: RunState, event: RunContinued & { readonly at: number }): RunState {
  const tables = emptyTables();
  const from = old.tables;
  for (const [key, row] of from.executions.entries()) tables.executions.set(key, row);
  for (const [key, row] of from.messages.entries()) tables.messages.set(key, row);
  for (const [key, row] of from.blobs.entries()) tables.blobs.set(key, row);
  for (const [key, row] of from.outputs.entries()) tables.outputs.set(key, row);
  for (const [key, row] of from.attributes.entries()) tables.attributes.set(key, row);
  for (const [key, row] of from.children.entries()) tables.children.set(key, row);
  for (const table of [from.executions, from.messages, from.blobs, from.children])
    for (const key of [...table.keys()]) table.delete(key);
  const run = new RunState(
    {
      ...old.head,
      runId: event.runId,
      generation: old.head.generation + 1,
      previousRunId: old.head.runId,
      status: 'running',
      failKind: null,
      failure: null,
      closedAt: null,
      startedAt: event.at,
      events: old.head.events + 1,
      base: old.head.events,
      rolledTo: old.head.events,
      nextRunId: null,
    },
    tables,
  );
  for (const [token, value] of old.heartbeats) run.heartbeats.set(token, value);
  run.window = old.window;
  run.calls = old.calls;
  old.calls = new Map();
  // As it is, so that RPCs and Steps keep their places among each other (L2).
  run.locks = old.locks;
  old.locks = new LockTable();
  if (event.keep !== null) {
    for (const address of [...run.attributes.all()]) {
      if (!event.keep.includes(nameOf(address))) run.writeAttribute(address, null);
    }
  }
  return run;
}
