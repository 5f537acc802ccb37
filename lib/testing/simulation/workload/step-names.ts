import type { AnyStep, FlowClass } from '../../../authoring';
import type { FlowName, StepName } from './program';

const steps = new Map<StepName, AnyStep>();
const flows = new Map<FlowName, FlowClass>();

export function nameSteps(classes: Readonly<Record<StepName, AnyStep>>): void {
  for (const [name, type] of Object.entries(classes)) steps.set(name as StepName, type);
}

export function nameFlows(classes: Readonly<Record<FlowName, FlowClass>>): void {
  for (const [name, type] of Object.entries(classes)) flows.set(name as FlowName, type);
}

/** The Step class of a name: programs know Steps by their names only. */
export function stepNamed(name: StepName): AnyStep {
  return steps.get(name)!;
}

export function flowNamed(name: FlowName): FlowClass {
  return flows.get(name)!;
}
