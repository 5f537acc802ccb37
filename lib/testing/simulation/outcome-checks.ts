import { shardOf } from '../../values';
import type { Durable } from './model/durable';
import type { ConditionModel } from './model/execution-model';
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
  for (const first of durable.runs.values()) {
    if (first.previous) continue;
    const { flowId } = first.program;
    for (const [run, stored] of await states.compareHistory(shardOf(flowId, shards), first)) {
      const unread = [...stored.messages.allUnread()].reduce((sum, [, keys]) => sum + keys.size, 0);
      const expected = [...run.unread.values()].reduce((sum, queue) => sum + queue.length, 0);
      if (unread !== expected) violated('C1', `${flowId}: ${unread} messages are unread, and should be ${expected}`);
      checkCounter(run, violated);
    }
    checkSenders(first, told, violated);
  }
  for (const child of durable.children.all()) {
    const unsettled = durable.children.unsettled(child);
    if (unsettled) violated('U3', unsettled);
  }
  for (const [requestId, runId] of told.acknowledged.starts) {
    const runs = [...durable.runs.values()].filter((run) => run.requestId === requestId);
    if (runs.length !== 1 || runs[0]!.runId !== runId) violated('F5', `${requestId} started ${runs.length} runs`);
  }
  for (const id of told.acknowledged.messages) {
    const runs = [...durable.runs.values()].filter((run) => !run.previous && run.messageIds.has(id));
    if (runs.length !== 1) violated('C3', `the message ${id} is stored ${runs.length} times`);
  }
}

/** Each sender's messages are handled in its order, each once, and all that were acknowledged (N2, C3). */
function checkSenders(first: RunModel, told: Told, violated: (rule: string, what: string) => void): void {
  const { flowId } = first.program;
  const last = first.latest;
  const handled = last.consumed.filter((text) => text.startsWith('sender '));
  const unread = [...last.unread.values()].flat();
  const numbers = new Map<string, number>();
  for (const text of [...handled, ...unread.filter((each) => each.startsWith('sender '))]) {
    const [sender, number] = text.split(': ') as [string, string];
    const expected = (numbers.get(sender) ?? -1) + 1;
    if (Number(number) !== expected) violated('N2', `${flowId}: ${text} came where ${expected} was due`);
    numbers.set(sender, Number(number));
  }
  for (const [id, text] of last.messageIds) {
    if (!text.startsWith('sender ') || !told.acknowledged.messages.has(id)) continue;
    if (!handled.includes(text) && !unread.includes(text)) violated('N2', `${flowId}: ${text} was lost`);
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
  if (run.deadlineAt !== null && !run.isTimedOut) return false;
  for (const { wait } of run.executions.values()) {
    if (!wait) return false;
    const isTimer = ({ address, child }: ConditionModel) => address === undefined && child === undefined;
    if (wait.conditions.some((each) => isTimer(each) && each.dueAt > now - 5_000)) return false;
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
