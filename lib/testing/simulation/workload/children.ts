import { type FlowClass, type SubFlowCondition, type SubFlowOptions, startSubFlow, subFlow } from '../../../authoring';
import type { ChildScript } from './program';
import { flowNamed } from './step-names';

/** Starts SubFlows that nobody waits for. */
export function startChildren(children: readonly ChildScript[]): void {
  for (const child of children) startSubFlow(flowOf(child), child.input as never, optionsOf(child));
}

export function childCondition(child: ChildScript, id: string, cancelWithWait: boolean): SubFlowCondition {
  return subFlow(flowOf(child), child.input as never, { ...optionsOf(child), id, cancelWithWait });
}

function optionsOf({ parentClose, reuse, flowId }: ChildScript): SubFlowOptions {
  return { parentClose, reuse, ...(flowId !== undefined && { flowId }) };
}

function flowOf({ flow }: ChildScript): FlowClass {
  return flowNamed(flow);
}
