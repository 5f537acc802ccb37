import type { ChildOutcome, ChildRow, Obligation } from './child';
import type { ChildClosedCommand, ChildStartCommand, ChildStopCommand, FlowMessage } from './flow-message';
import type { FlowState, OwedOutcome } from './flow-state';
import type { RunState } from './run-state';

/** A message to another flow, sent until that flow has answered; `key` is the same for each repeat. */
export interface Tell {
  readonly key: string;
  readonly flowId: string;
  readonly command: FlowMessage;
}

/** Everything a flow still has to tell others, derived from its state: a new owner sends it again. */
export function outboxOf(flow: FlowState): Tell[] {
  const { run, head } = flow;
  const tells: Tell[] = [];
  // What a closed run owes its children stands among the obligations.
  for (const key of run?.isOpen ? run.children.owing : []) {
    const tell = tellChild(run!, run!.children.get(key)!);
    if (tell) tells.push(tell);
  }
  if (run) tells.push(...tellParents(run));
  for (const owed of flow.outcomes.values()) tells.push(tellOutcome(owed));
  for (const obligation of flow.obligations.values()) {
    const tell = tellObligation(head.flowId, obligation);
    if (tell) tells.push(tell);
  }
  return tells;
}

/** What is to be told to a child of an open run, if anything. */
export function tellChild(run: RunState, child: ChildRow): Tell | undefined {
  const { flowId, chainId, lines, trace } = run.head;
  if (child.state === 'starting') {
    const input = child.input === null ? null : run.payloadOf(child.input);
    return {
      key: `start ${chainId} ${child.key}`,
      flowId: child.flowId,
      command: startOf(flowId, chainId, child.key, { ...child, input, lines, trace }),
    };
  }
  if (child.state === 'started' && child.stop) {
    return {
      key: `stop ${chainId} ${child.key}`,
      flowId: child.flowId,
      command: stopOf(flowId, chainId, child.key, child.runId!, child.stop),
    };
  }
  return undefined;
}

/** What a closed run has to tell the parents that have not saved it yet (U1, U5). */
export function tellParents(run: RunState): (Tell & { readonly command: ChildClosedCommand })[] {
  if (run.isOpen || run.head.nextRunId !== null) return [];
  return run.head.parents
    .filter(({ told }) => !told)
    .map(({ flowId, chainId, key }) => ({
      key: `closed ${chainId} ${key}`,
      flowId,
      command: closedOf(chainId, key, run.head.flowId, outcomeOfRun(run)),
    }));
}

export function tellOutcome({ parentFlowId, command }: OwedOutcome): Tell {
  return { key: `closed ${command.chainId} ${command.key}`, flowId: parentFlowId, command };
}

export function tellObligation(
  flowId: string,
  { chainId, key, childFlowId, start, runId, stop }: Obligation,
): Tell | undefined {
  if (start)
    return { key: `start ${chainId} ${key}`, flowId: childFlowId, command: startOf(flowId, chainId, key, start) };
  if (stop && runId !== null) {
    return { key: `stop ${chainId} ${key}`, flowId: childFlowId, command: stopOf(flowId, chainId, key, runId, stop) };
  }
  return undefined;
}

export function outcomeOfRun(run: RunState): ChildOutcome {
  const { runId, status, failKind, failure } = run.head;
  return {
    runId,
    status: status as ChildOutcome['status'],
    failKind,
    failure,
    outputs: [...run.outputs.values()].map(({ execution, value }) => [execution, value] as const),
  };
}

export function closedOf(chainId: string, key: string, childFlowId: string, outcome: ChildOutcome): ChildClosedCommand {
  return { kind: 'childClosed', chainId, key, childFlowId, outcome };
}

function startOf(
  parentFlowId: string,
  chainId: string,
  key: string,
  {
    flow,
    plan,
    newRunId,
    input,
    reuse,
    terms,
    again,
    lines,
    trace,
  }: Pick<ChildRow, 'flow' | 'plan' | 'newRunId' | 'reuse' | 'again'> &
    Pick<ChildStartCommand, 'input' | 'terms' | 'lines' | 'trace'>,
): ChildStartCommand {
  const parent = { flowId: parentFlowId, chainId, key };
  const known = { ...(terms && { terms }), ...(again && { again }), ...(lines && { lines }), ...(trace && { trace }) };
  return { kind: 'childStart', parent, flow, plan, newRunId, input, reuse, ...known };
}

function stopOf(
  parentFlowId: string,
  chainId: string,
  key: string,
  runId: string,
  how: ChildStopCommand['how'],
): ChildStopCommand {
  return { kind: 'childStop', parent: { flowId: parentFlowId, chainId, key }, runId, how };
}
