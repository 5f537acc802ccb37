import type { ChildOutcome } from './child';
import type { FlowState } from './flow-state';
import { limits } from './limits';
import { tellObligation } from './outbox';
import type { Firing, FiringRow, Overlap } from './schedule-state';
import type { Turn } from './turn';

/**
 * Starts a run for a firing, or does with it what the overlap policy says. Gives the flowId of the run, null if none is
 * started now. The start is a debt of the schedule's flowId until it is confirmed: it happens once however often it is
 * told, and is told until then.
 */
export function fire(turn: Turn, firing: Firing, overlap: Overlap): string | null {
  const { flow } = turn;
  const { firings } = flow;
  if (firings.has(firing.key)) return firings.get(firing.key)!.flowId;
  if (firings.size >= limits.openFirings) return skip(turn, firing);
  if (firings.size === 0 || overlap === 'allow') return begin(turn, firing);
  const { buffered } = flow.head.schedule!;
  switch (overlap) {
    case 'skip':
      return skip(turn, firing);
    case 'bufferOne':
      if (buffered) return skip(turn, firing);
      break;
    case 'cancelPrevious':
      for (const row of [...firings.values()]) if (!row.stopping) cancel(turn, row);
      if (buffered) skip(turn, buffered);
  }
  flow.setSchedule({ ...flow.head.schedule!, buffered: firing });
  return null;
}

function skip({ flow }: Turn, { at }: Firing): null {
  flow.noteFiring({ at, flowId: null, what: 'skipped' }, { skipped: 1 });
  return null;
}

function begin(turn: Turn, { key, at }: Firing): string {
  const { flow } = turn;
  const { incarnation, asked, flow: name, plan } = flow.head.schedule!;
  const { flowId: prefix, input, terms } = flow.action!;
  const number = asked + 1;
  const byHand = key.includes('~') ? `~${number}` : '';
  const flowId = `${prefix}/${new Date(at).toISOString()}${byHand}`;
  flow.setSchedule({ ...flow.head.schedule!, asked: number });
  flow.setFiring({ key, at, flowId, runId: null, stopping: false });
  flow.noteFiring({ at, flowId, what: 'starting' }, {});
  flow.owe({
    chainId: incarnation,
    key,
    childFlowId: flowId,
    start: { flowId, flow: name, plan, newRunId: `${incarnation}.${number}`, input, reuse: 'never', terms },
    runId: null,
    stop: null,
  });
  turn.tell(tellObligation(flow.head.flowId, flow.owed(incarnation, key)!));
  return flowId;
}

function cancel(turn: Turn, row: FiringRow): void {
  const { flow } = turn;
  const { incarnation } = flow.head.schedule!;
  const { key, flowId, runId } = row;
  flow.setFiring({ ...row, stopping: true });
  // One that is not confirmed yet is stopped as soon as it is.
  const starting = flow.owed(incarnation, key);
  flow.owe({
    ...(starting ?? { chainId: incarnation, key, childFlowId: flowId, start: null, runId }),
    stop: 'cancel',
  });
  if (!starting) turn.tell(tellObligation(flow.head.flowId, flow.owed(incarnation, key)!));
}

/** The start of a firing's run is confirmed. */
export function firingStarted({ flow }: Turn, chainId: string, key: string, runId: string): void {
  const row = firingOf(flow, chainId, key);
  if (!row || row.runId !== null) return;
  flow.setFiring({ ...row, runId });
  flow.noteFiring({ at: row.at, flowId: row.flowId, what: 'started' }, { started: 1 });
}

/** A firing's run has closed, or its start was refused: one that waits for it begins. */
export function firingClosed(turn: Turn, chainId: string, key: string, { status }: ChildOutcome): void {
  const { flow } = turn;
  const row = firingOf(flow, chainId, key);
  if (!row) return;
  if (status !== 'refused') firingStarted(turn, chainId, key, '');
  flow.dropFiring(key);
  const refused = status === 'refused';
  const what = refused ? 'refused' : 'closed';
  flow.noteFiring({ at: row.at, flowId: row.flowId, what }, refused ? { refused: 1 } : {});
  const { buffered } = flow.head.schedule!;
  if (!buffered || flow.firings.size > 0) return;
  flow.setSchedule({ ...flow.head.schedule!, buffered: null });
  begin(turn, buffered);
}

function firingOf(flow: FlowState, chainId: string, key: string): FiringRow | undefined {
  return flow.head.schedule?.incarnation === chainId ? flow.firings.get(key) : undefined;
}
