import { Movement } from '../../../authoring';
import type { ProgramNode } from './program';
import { stepNamed } from './step-names';

export function movementOf(node: ProgramNode): Movement {
  return new Movement(stepNamed(node.step), node.input, node.options);
}
