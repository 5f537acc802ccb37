import type { FlowPlan, RpcPlan, StepPlan } from './plan';

/** Whether a plan is that of a Flow, by its name or an earlier one (V3). */
export function isPlanOf(plan: FlowPlan, flow: string): boolean {
  return plan.name === flow || plan.aliases.includes(flow);
}

/** A Step by its name or an earlier one. */
export function stepNamed(plan: FlowPlan, step: string): StepPlan | undefined {
  return named(plan.steps, step);
}

/** An RPC or Query by its name or an earlier one. */
export function rpcNamed(plan: FlowPlan, rpc: string): RpcPlan | undefined {
  return named(plan.rpcs, rpc);
}

function named<T extends { readonly aliases: readonly string[] }>(
  all: Readonly<Record<string, T>>,
  name: string,
): T | undefined {
  return Object.hasOwn(all, name) ? all[name] : Object.values(all).find(({ aliases }) => aliases.includes(name));
}
