import { shardOf } from '../../values';
import type { Durable } from './model/durable';
import type { RunModel } from './model/run-model';
import type { Told } from './model/told';
import type { StateChecks } from './state-checks';

/** What must be true in the end, of all runs and of all that clients were told. */
export async function checkOutcome(
  durable: Durable,
  told: Told,
  states: StateChecks,
  shards: number,
  violated: (rule: string, what: string) => void,
): Promise<void> {
  for (const [runId, run] of durable.runs) {
    const { flowId } = run.program;
    const stored = await states.compareHistory(shardOf(flowId, shards), runId);
    const unread = [...(stored?.messages.allUnread() ?? [])].reduce((sum, [, keys]) => sum + keys.size, 0);
    const expected = [...run.unread.values()].reduce((sum, queue) => sum + queue.length, 0);
    if (unread !== expected) violated('C1', `${flowId}: ${unread} messages are unread, and should be ${expected}`);
    checkCounter(run, violated);
  }
  for (const [requestId, runId] of told.acknowledged.starts) {
    const runs = [...durable.runs.values()].filter((run) => run.requestId === requestId);
    if (runs.length !== 1 || runs[0]!.runId !== runId) violated('F5', `${requestId} started ${runs.length} runs`);
  }
  for (const id of told.acknowledged.messages) {
    const runs = [...durable.runs.values()].filter((run) => run.messageIds.has(id));
    if (runs.length !== 1) violated('C3', `the message ${id} is stored ${runs.length} times`);
  }
}

/** No update under a lock is lost (L4). */
function checkCounter(run: RunModel, violated: (rule: string, what: string) => void): void {
  let counted = -run.program.initialCounter;
  for (const [name, value] of run.attributes) {
    if (name === 'Counter' || name.startsWith('Ledger ')) counted += value as number;
  }
  if (counted !== run.increments) {
    violated('L4', `${run.program.flowId}: ${run.increments} increments were saved, and ${counted} are there`);
  }
}

/** Whether a run will go on without anything from outside; those that wait for messages which nobody sends do not. */
export function isIdle(run: RunModel, now: number): boolean {
  if (!run.isOpen) return true;
  for (const { wait } of run.executions.values()) {
    if (!wait || wait.conditions.some(({ address, dueAt }) => address === undefined && dueAt > now - 5_000))
      return false;
  }
  return true;
}

export function describeStuck(run: RunModel): string {
  const executions = [...run.executions.values()].map(({ id, call, wait }) =>
    wait
      ? `${id} waits`
      : `${id}.${call!.method} #${call!.attempt} ${call!.state} ${call!.token ?? ''} ${call!.worker ?? ''}`,
  );
  return `${run.program.flowId} (${run.closing ?? run.status}): ${executions.join('; ')}`;
}
