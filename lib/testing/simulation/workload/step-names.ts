import type { AnyStep } from '../../../authoring';
import type { StepName } from './program';

const classes = new Map<StepName, AnyStep>();

export function nameSteps(steps: Readonly<Record<StepName, AnyStep>>): void {
  for (const [name, type] of Object.entries(steps)) classes.set(name as StepName, type);
}

/** The Step class of a name: programs know Steps by their names only. */
export function stepNamed(name: StepName): AnyStep {
  return classes.get(name)!;
}
