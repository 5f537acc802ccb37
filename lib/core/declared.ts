import { HoldfastError } from '../errors';
import { type FlowPlan, isPlanOf } from '../plan';
import { type Address, keyOf, nameOf } from './payload';
import type { RunState } from './run-state';

/** Throws a definition error unless the run is one of the plan's Flow, under its name or an earlier one (V3). */
export function checkFlow(plan: FlowPlan, run: RunState | undefined): void {
  if (!run || isPlanOf(plan, run.head.flow)) return;
  const flowId = JSON.stringify(run.head.flowId);
  throw new HoldfastError('DEFINITION', `${flowId} is a run of ${run.head.flow}, not of ${plan.name}.`, {
    where: run.head.flowId,
    fix: `Name ${run.head.flow}, or use another flowId.`,
  });
}

/** Whether a Step that a run stores is among those which code names, by their present names. */
export function isOneOf(plan: FlowPlan, stored: string, steps: readonly string[]): boolean {
  return steps.includes(plan.steps[stored]?.name ?? stored) || steps.includes(stored);
}

/** Throws `FLOW_NOT_ACTIVE` for a run of another chain than the one that is meant; undefined means any. */
export function checkChain(run: RunState | undefined, chainId: string | undefined): void {
  if (!run || chainId === undefined || run.head.chainId === chainId) return;
  const flowId = JSON.stringify(run.head.flowId);
  throw new HoldfastError('FLOW_NOT_ACTIVE', `The run of ${flowId} that is meant has closed, and another has begun.`, {
    where: run.head.flowId,
  });
}

/** Throws a definition error unless the Flow declares the Attribute, and with or without entries as the address says. */
export function checkAttribute(plan: FlowPlan, address: Address): void {
  check(plan, 'Attribute', plan.attributes[nameOf(address)], address);
}

/** The same for a Channel (C5). */
export function checkChannel(plan: FlowPlan, address: Address): void {
  check(plan, 'Channel', plan.channels[nameOf(address)], address);
}

function check(plan: FlowPlan, what: string, declared: { map: boolean } | undefined, address: Address): void {
  const name = nameOf(address);
  if (!declared) {
    throw new HoldfastError('DEFINITION', `The Flow ${plan.name} has no ${what} ${name}.`, {
      where: plan.name,
      fix: `Take ${name} in the constructor of the Flow or of one of its Steps.`,
    });
  }
  if (declared.map === (keyOf(address) !== undefined)) return;
  throw new HoldfastError(
    'DEFINITION',
    declared.map
      ? `The ${what} ${name} of ${plan.name} is a map and needs a key.`
      : `The ${what} ${name} of ${plan.name} is no map and takes no key.`,
    { where: plan.name },
  );
}
