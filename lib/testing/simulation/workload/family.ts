import type { Random } from '../random';
import { generateNodes } from './generate';
import type { ChildScript, FlowName, Program, Programs } from './program';

/** How deep SubFlows have SubFlows of their own. */
const deepest = 2;

/** Makes the SubFlows that one program asks for, with programs of their own. */
export class Family {
  private made = 0;

  constructor(
    private readonly programs: Programs,
    private readonly name: string,
    /** SubFlows under ids that several parents name. */
    private readonly shared: readonly Program[],
    private readonly depth = 1,
  ) {}

  child(random: Random): ChildScript {
    const parentClose = random.pick(['terminate', 'cancel', 'abandon'] as const);
    if (this.shared.length > 0 && random.chance(0.25)) {
      const { flow, flowId, nodes } = random.pick(this.shared);
      const reuse = random.pick(['attach', 'restartIfFailed', 'restart'] as const);
      return { flow, input: nodes[0]!.input, flowId, parentClose, reuse };
    }
    const name = `${this.name}>${++this.made}`;
    const family = this.depth < deepest ? new Family(this.programs, name, this.shared, this.depth + 1) : undefined;
    const program = childProgram(random, name, '', family);
    this.programs.add(program);
    const { flow, nodes } = program;
    return { flow, input: nodes[0]!.input, flowId: undefined, parentClose, reuse: 'restartIfFailed' };
  }
}

export function childProgram(random: Random, name: string, flowId: string, family: Family | undefined): Program {
  const flow = random.pick<FlowName>(['Steady', 'Hasty', 'Brief']);
  const nodes = generateNodes(random, name, flow, random.between(1, 3), family, random.chance(0.2));
  return {
    ...{ name, flowId, flow, nodes },
    durability: undefined,
    initialCounter: 0,
    timeoutMs: undefined,
    timeoutNode: null,
    historyLimit: undefined,
    retentionMs: undefined,
    calls: new Set(),
  };
}
