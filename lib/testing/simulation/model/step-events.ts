import type { Event, Staged } from '../../../core';
import { decode } from '../../../values';
import { callName } from '../workload/journal';
import { endToken } from './call-events';
import type { Check, Witness } from './check';
import { askForChildren, keysToStop, stopWithWait } from './child-events';
import { type ExecutionModel, parentOf } from './execution-model';
import type { RunModel } from './run-model';
import { amounts, childKeys, place, showStored, showWait, waitModel } from './wait-model';

type Of<K extends Event['kind']> = Event & { readonly kind: K };

export function stepScheduled(run: RunModel, event: Of<'StepScheduled'>, check: Check): void {
  const { step, from } = event;
  const number = (run.counters.get(step) ?? 0) + 1;
  run.counters.set(step, number);
  check(event.execution === `${step}-${number}`, 'S2', `${event.execution} is not number ${number} of ${step}`);
  const execution = run.addExecution(event);
  if (from.kind === 'step' || from.kind === 'rpc' || run.previous) {
    const due = from.kind === 'timeout' || from.kind === 'failure' ? execution.node.index : run.movements.shift();
    check(due === execution.node.index, 'D1', `${event.execution} was scheduled, and not node ${due}`);
  }
  if (from.kind === 'start') {
    const base = run.previous?.events ?? 0;
    check(run.events === base + 2, 'F2', `${event.execution} was scheduled by the start, late`);
  }
  if (from.kind === 'timeout') {
    const late = run.deadlineAt !== null && event.at >= run.deadlineAt && !run.isTimedOut;
    check(late, 'F7', `the time-out was handled at ${event.at}, and the deadline is ${run.deadlineAt}`);
    run.isTimedOut = true;
  }
  check(
    execution.node.step === step || event.recovery !== null || from.kind === 'timeout',
    'D1',
    `${event.execution} is no ${execution.node.step}`,
  );
  const notBefore = from.kind === 'start' && run.previous ? null : event.notBefore;
  const call = run.beginCall(execution, run.firstMethod(step), event.at, notBefore);
  check(event.call.durability === call.durability, 'P1', `${event.execution} is not ${call.durability}`);
}

export function waitForCompleted(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'WaitForCompleted'>,
  check: Check,
  witness: Witness,
): void {
  checkCurrent(execution, event.token, 'waitFor', check, witness);
  const { waitFor } = execution.node;
  applyStaged(run, execution.id, event.staged, waitFor.publishes.length, event.at, check);
  askForChildren(run, waitFor.children, check, execution.id);
  run.childrenDue = check(run.childrenDue.length === 0, 'U1', `${execution.id} did not ask for a SubFlow`)
    ? run.childrenDue
    : [];
  execution.local = decode(event.staged.locals.mark!) as string;
  endToken(execution.call!, witness);
  execution.call = null;
  execution.subFlows = childKeys(execution.node, run, execution.id, witness);
  execution.wait = waitModel(execution.node, event.conditions, event.at, execution.subFlows);
  const [stored, asked] = [showStored(event.conditions, event.candidates), showWait(execution.wait)];
  check(stored === asked, 'W1', `${execution.id} waits for ${stored}, and asked for ${asked}`);
}

export function waitSatisfied(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'WaitSatisfied'>,
  check: Check,
  witness: Witness,
): void {
  const wait = execution.wait!;
  const unread = (address: string) => run.countUnread(address);
  const hasClosed = (key: string) => witness.children.get(run.chainId, key)!.outcome !== null;
  const amountsOf = (each: readonly number[]) => amounts(wait, each, unread, event.at, hasClosed);
  const found = wait.candidates.findIndex((each) => amountsOf(each) !== undefined);
  const what = `${execution.id} went on by candidate ${event.candidate} at ${event.at}`;
  check(found === event.candidate, 'W2', `${what}, and ${found} is the first that holds of ${showWait(wait)}`);
  if (found < 0) return;
  const taken = amountsOf(wait.candidates[found]!)!;
  const won = new Set(wait.candidates[found]!.map((index) => wait.conditions[index]!.id));
  const stops = keysToStop(run, execution.id, won, witness);
  const counts = event.messages.map(([condition, keys]) => `${wait.stored[condition]}: ${keys.length}`).sort();
  const own = [...taken].map(([index, count]) => `${wait.conditions[index]!.id}: ${count}`).sort();
  check(counts.join() === own.join(), 'W4', `${what} and took ${counts.join()} messages instead of ${own.join()}`);
  execution.received = {};
  for (const [index, count] of taken) {
    const { address } = wait.conditions[index]!;
    const messages = run.unread.get(address!)?.splice(0, count) ?? [];
    execution.received[address!] = [...(execution.received[address!] ?? []), ...messages];
    run.consumed.push(...messages);
  }
  execution.fired = wait.candidates[found]!.map((index) => wait.conditions[index]!)
    .filter(({ address, child }) => address === undefined && child === undefined)
    .map(({ id }) => id);
  execution.wait = null;
  stopWithWait(run, stops, witness);
  run.beginCall(execution, 'execute', event.at, null);
}

export function executeCompleted(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'ExecuteCompleted'>,
  check: Check,
  witness: Witness,
): void {
  const { node, id } = execution;
  const { next } = node;
  checkCurrent(execution, event.token, 'execute', check, witness);
  applyStaged(run, id, event.staged, node.execute.publishes.length, event.at, check);
  askForChildren(run, node.execute.children, check, id);
  check(event.decision === next.kind, 'D1', `${id} decided ${event.decision}, and its program says ${next.kind}`);
  const output = 'output' in next ? next.output : null;
  const told = event.output === undefined ? null : decode(event.output);
  check(told === output, 'D8', `${id} gave the output ${told} instead of ${output}`);
  if (output !== null) run.outputs.push({ stepExecutionId: id, value: output });
  if (next.kind === 'goTo') run.movements = [...next.nodes];
  if (next.kind === 'continueAsNew') {
    run.movements = [next.node];
    run.continuing = { keep: next.keep };
  }
  if (next.kind === 'gracefulComplete') run.completing = true;
  if (next.kind === 'forceComplete') run.forced = 'completed';
  if (next.kind === 'forceFail') run.forced = 'failed';
  if (next.kind === 'completeIfEmpty') run.closeChecks.push({ execution: id, otherwise: next.otherwise });
  const cancels = 'cancels' in next ? next.cancels : null;
  for (const other of cancels ? run.executions.values() : []) {
    const meant = cancels!.steps.some((step) => other.id.startsWith(`${step}-`));
    if (other === execution || !meant) continue;
    if (!cancels!.siblingsOnly || parentOf(other) === parentOf(execution)) run.cancels.add(other.id);
  }
  endToken(execution.call!, witness);
  run.end(id, 'completed');
}

/** The result of an attempt counts only with the current token (X4). */
function checkCurrent(execution: ExecutionModel, token: string, method: string, check: Check, witness: Witness): void {
  const { call, id } = execution;
  const what = `the result of ${id}.${method} with the token ${token}`;
  const current = call?.state === 'running' && call.token === token && call.method === method;
  check(current, 'X4', `${what} was taken, and ${call?.token} is current`);
  const body = witness.journal.withToken(token);
  check(body?.ended === 'returned', 'S5', `${what} was taken, and its body has not returned`);
}

/** What a method or an RPC has staged takes effect (S5). */
export function applyStaged(
  run: RunModel,
  who: string,
  staged: Staged,
  published: number,
  at: number,
  check: Check,
): void {
  for (const [address, payload] of staged.attributes) {
    const name = place(address);
    const value = payload === null ? null : decode(payload);
    if (name === 'Counter' || name.startsWith('Ledger ')) {
      const before = (run.attributes.get(name) as number | undefined) ?? 0;
      check(value === before + 1, 'L4', `${who} wrote ${name} = ${value} over ${before} at ${at}`);
      run.increments++;
    }
    run.write(address, value);
  }
  for (const [address, payload] of staged.publishes) run.publish(address, decode(payload) as string);
  const count = staged.publishes.length;
  check(count === published, 'S5', `${who} published ${count} messages`);
}

export function stepFailed(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'StepFailed'>,
  check: Check,
  witness: Witness,
): void {
  const { call, id } = execution;
  const exhausted = call === null || call.exhausted;
  check(exhausted, 'X1', `${id} failed with attempts left`);
  const method = call?.method ?? 'waitFor';
  const entered = witness.journal.ofCall(callName({ chainId: run.chainId, execution: id, method })).length > 0;
  const what = `${id} failed as ${event.progress}, and its body ${entered ? 'ran' : 'never ran'}`;
  if (event.progress === 'NOT_STARTED') {
    check(!entered && call?.durability === 'SYNC', 'X9', what);
    // An attempt that was given back uses none, and may have entered.
  } else if (call) check(call.attempt > 0 || entered || call.durability === 'ASYNC', 'X9', what);
  const recovers = method === 'execute' && id.startsWith('Risky-');
  check((event.recovery !== null) === recovers, 'X8', `${id} failed, and is recovered by ${event.recovery}`);
  run.end(id, 'failed');
  if (event.recovery === null) {
    run.forced = 'failed';
    run.failKind = event.failure.name === 'DefinitionError' ? 'definition' : 'worker';
  }
}

export function stepCancelled(
  run: RunModel,
  execution: ExecutionModel,
  event: Of<'StepCancelled'>,
  check: Check,
  witness: Witness,
): void {
  if (event.reason.startsWith('the Flow is closing')) run.cancelledByClosing++;
  else check(run.cancels.delete(event.execution), 'D6', `${event.execution} was cancelled, and nobody asked for it`);
  if (execution.call) endToken(execution.call, witness);
  // By closing they end by their policies (U3).
  const stops = keysToStop(run, execution.id, new Set(), witness);
  if (!event.reason.startsWith('the Flow is closing')) stopWithWait(run, stops, witness);
  run.end(event.execution, 'cancelled');
}
