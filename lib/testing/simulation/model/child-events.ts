import type { ChildOutcome, Event } from '../../../core';
import { decode } from '../../../values';
import type { ChildScript, NodeInput } from '../workload/program';
import { showOutcome } from '../workload/seen';
import type { Check, Witness } from './check';
import { outcomeOf } from './child-model';
import type { RunModel } from './run-model';
import { childKeys } from './wait-model';

type Of<K extends Event['kind']> = Event & { readonly kind: K };

export function childRequested(run: RunModel, event: Of<'ChildRequested'>, check: Check, witness: Witness): void {
  const { key, flowId, newRunId, parentClose, reuse, input } = event.child;
  check(!witness.children.get(run.chainId, key), 'U1', `the SubFlow ${key} was asked for twice`);
  const { program } = decode(input!) as NodeInput;
  const expected = run.childrenDue.findIndex(
    (each) => each.input.program === program && each.parentClose === parentClose && each.reuse === reuse,
  );
  if (event.execution === null) {
    // Of a `waitFor` they come before the event of its result.
    if (expected >= 0) run.childrenDue.splice(expected, 1);
    else run.childrenEarly.push(program);
  }
  witness.assign(flowId, program);
  witness.children.add({
    ...{ key, parent: run, flowId, program, newRunId, execution: event.execution, parentClose, reuse },
    ...{ run: undefined, attached: false, refused: false, confirmed: false, stops: new Set<never>(), outcome: null },
  });
}

/** SubFlows that a result asks for: of a `waitFor` they have been asked for already, else they follow. */
export function askForChildren(run: RunModel, children: readonly ChildScript[], check: Check, what: string): void {
  for (const child of children) {
    const early = run.childrenEarly.indexOf(child.input.program);
    if (early >= 0) run.childrenEarly.splice(early, 1);
    else run.childrenDue.push(child);
  }
  check(run.childrenEarly.length === 0, 'U1', `${what} did not ask for the SubFlow ${run.childrenEarly[0]}`);
}

export function childStopAsked(run: RunModel, event: Of<'ChildStopAsked'>, check: Check, witness: Witness): void {
  const child = witness.children.get(run.chainId, event.key)!;
  check(run.stopsDue.delete(event.key), 'U1', `the SubFlow ${event.key} is to end, and its wait goes on`);
  child.stops.add(event.how);
}

/** SubFlows that go with a wait which lost or was cancelled (U1). */
export function stopWithWait(run: RunModel, keys: readonly string[], witness: Witness): void {
  for (const key of keys) {
    const child = witness.children.get(run.chainId, key)!;
    if (child.outcome === null && child.stops.size === 0 && !(child.attached && child.confirmed)) run.stopsDue.add(key);
  }
}

export function keysToStop(run: RunModel, execution: string, won: ReadonlySet<string>, witness: Witness): string[] {
  const { wait, node } = run.executions.get(execution)!;
  if (!wait) return [];
  const keys = childKeys(node, run, execution, witness);
  return node.wait!.conditions.flatMap((script) => {
    const key = keys.get(script.id);
    return script.kind === 'subFlow' && script.cancelWithWait && key !== undefined && !won.has(script.id) ? [key] : [];
  });
}

export function childStarted(run: RunModel, event: Of<'ChildStarted'>, check: Check, witness: Witness): void {
  const child = witness.children.get(run.chainId, event.key)!;
  check(child.outcome === null && !child.confirmed, 'U1', `the start of ${event.key} was confirmed again`);
  check(
    child.run !== undefined && child.attached === event.attached && isOf(child.run, event.runId),
    'U1',
    `the start of ${event.key} was confirmed as ${event.runId}, and it is ${child.run?.runId}`,
  );
  child.confirmed = true;
}

function isOf(first: RunModel, runId: string): boolean {
  for (let run: RunModel | undefined = first; run; run = run.next) if (run.runId === runId) return true;
  return false;
}

export function childClosed(run: RunModel, event: Of<'ChildClosed'>, check: Check, witness: Witness): void {
  const child = witness.children.get(run.chainId, event.key)!;
  check(child.outcome === null, 'U1', `${event.key} closed twice`);
  const told = showChildOutcome(event.outcome);
  if (event.outcome.status === 'refused') {
    check(child.run === undefined && child.reuse === 'restartIfFailed', 'U4', `the start of ${event.key} was refused`);
  } else {
    const truth = child.run && !child.run.latest.isOpen ? outcomeOf(child.run) : 'none';
    check(told === truth, 'U2', `${event.key} is told to have ended as ${told}, and ended as ${truth}`);
  }
  child.outcome = told;
}

export function showChildOutcome({ status, outputs }: ChildOutcome): string {
  return showOutcome(
    status,
    outputs.map(([, value]) => decode(value)),
  );
}

/** A run begins as a SubFlow. */
export function beginChild(run: RunModel, event: Of<'FlowStarted'>, check: Check, witness: Witness): void {
  const { parent } = event;
  if (!parent) return;
  const child = witness.children.get(parent.chainId, parent.key);
  if (!check(child !== undefined, 'U1', `a SubFlow began that nobody asked for: ${parent.key}`)) return;
  check(child!.run === undefined, 'U1', `the SubFlow ${parent.key} began twice`);
  check(run.runId === child!.newRunId, 'U1', `the SubFlow ${parent.key} began as ${run.runId}`);
  child!.run = run;
}

export function parentAttached(run: RunModel, event: Of<'ParentAttached'>, check: Check, witness: Witness): void {
  const { chainId, key } = event.parent;
  const child = witness.children.get(chainId, key);
  if (!check(child !== undefined, 'U1', `${key} was attached, and nobody asked for it`)) return;
  check(child!.run === undefined, 'U1', `${key} was attached after it had begun`);
  const mayAttach = child!.reuse === 'attach' || (child!.reuse === 'restartIfFailed' && run.status === 'completed');
  check(mayAttach, 'U4', `${key} was attached to a run that is ${run.status} by ${child!.reuse}`);
  child!.run = run;
  child!.attached = true;
}

/** A run that its parent stopped: it must be one that this parent started, by its policy (U3). */
export function checkStoppedByParent(run: RunModel, status: string, check: Check, witness: Witness): void {
  const how = status === 'cancelled' ? 'cancel' : 'terminate';
  const mine = witness.children.of(run).some(({ attached, stops }) => !attached && stops.has(how));
  check(mine, 'U3', `it was ${status} by a parent which has not told it to end so`);
}
