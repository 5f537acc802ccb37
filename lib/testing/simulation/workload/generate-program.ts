import type { Random } from '../random';
import { childProgram, Family } from './family';
import { addNode, generateNodes } from './generate';
import type { MethodScript, Program, ProgramNode, Programs, RpcName } from './program';
import { stepOptions } from './program';

/** What the flows of a run do besides Steps, messages and locks; each is drawn by its own. */
export interface Features {
  readonly calls: boolean;
  readonly children: boolean;
  readonly continues: boolean;
  readonly timeouts: boolean;
  readonly rolls: boolean;
  readonly retention: boolean;
}

export function drawFeatures(random: Random): Features {
  return {
    calls: random.chance(0.45),
    children: random.chance(0.4),
    continues: random.chance(0.4),
    timeouts: random.chance(0.25),
    rolls: random.chance(0.2),
    retention: random.chance(0.15),
  };
}

const flowIds = ['a', 'order:1/ü', '\u{1F680} x', '日本', 'b\\"quoted', `${'long'.repeat(30)}`];
const rpcs: readonly RpcName[] = ['post', 'add', 'book', 'swap', 'peek'];

/** SubFlows that several parents name by the same flowId. */
export function sharedChildren(random: Random, programs: Programs): Program[] {
  return Array.from({ length: random.between(0, 2) }, (_, number) => {
    const flowId = `shared ${number}`;
    const program = childProgram(random, flowId, flowId, undefined);
    programs.add(program);
    return program;
  });
}

export function generateProgram(
  random: Random,
  number: number,
  features: Features,
  programs: Programs,
  shared: readonly Program[],
): Program {
  const flowId = `${flowIds[number % flowIds.length]}#${number}`;
  const flow = random.chance(0.6) ? 'Steady' : 'Hasty';
  const family = features.children ? new Family(programs, flowId, shared) : undefined;
  const nodes = generateNodes(random, flowId, flow, random.between(2, 12), family, features.continues);
  const program: Program = {
    ...{ name: flowId, flowId, flow, nodes },
    durability: random.pick([undefined, undefined, 'SYNC', 'ASYNC'] as const),
    initialCounter: random.below(3),
    timeoutMs: features.timeouts && random.chance(0.7) ? random.magnitude(2_000, 120_000) : undefined,
    timeoutNode: flow === 'Hasty' && features.timeouts ? addTimeoutNode(random, flowId, nodes) : null,
    historyLimit: features.rolls ? random.between(5, 60) : undefined,
    retentionMs: features.retention ? random.magnitude(1_000, 300_000) : undefined,
    calls: new Set(features.calls ? rpcs.filter(() => random.chance(0.6)) : []),
  };
  programs.add(program);
  programs.assign(flowId, flowId);
  return program;
}

/** The default options of a method marked `@OnTimeout`. */
const timeoutOptions = {
  ...stepOptions,
  timeout: 2 * 3_600_000,
  heartbeatTimeout: 60_000,
  retry: { initialInterval: 1_000, coefficient: 2, maximumInterval: 100_000, maximumAttempts: null },
};

/** A node of the Flow itself: what its Steps hold locked it does not write, and it ends in time. */
function addTimeoutNode(random: Random, name: string, nodes: ProgramNode[]): number {
  const index = addNode(random, name, 'Hasty', nodes, 'Plain');
  const node = nodes[index]!;
  const fails = node.execute.how === 'throws' ? node.execute.failures : 0;
  const execute: MethodScript = { ...node.execute, tag: null, failures: fails };
  nodes[index] = { ...node, execute, options: timeoutOptions };
  return index;
}

/**
 * A flow that hands each message it gets on to the next run of its chain: it continues as new for as long as messages come,
 * and several senders see to it that they do.
 */
export function generateRoller(random: Random, programs: Programs): Program {
  const flowId = 'roller';
  const nodes = generateNodes(random, flowId, 'Hasty', 1, undefined, false);
  const [first] = nodes as [ProgramNode];
  const calm = (script: MethodScript): MethodScript => ({
    ...script,
    failures: script.how === 'throws' && random.chance(0.3) ? 1 : 0,
    sleepMs: Math.min(script.sleepMs, 300),
    publishes: [],
    children: [],
  });
  const condition = { kind: 'channel', id: 'c0', channel: 'Letters', key: undefined } as const;
  const taken = random.pick([
    { take: 'take', min: 1, max: 1 },
    { take: 'takeAtLeast', min: 1, max: null },
    { take: 'takeBetween', min: 1, max: 3 },
  ] as const);
  nodes[0] = {
    ...first,
    options: stepOptions,
    waitFor: calm(first.waitFor),
    execute: calm(first.execute),
    wait: { how: 'until', conditions: [{ ...condition, ...taken }], candidates: [[0]] },
    next: { kind: 'continueAsNew', node: 0, keep: undefined, cancels: null },
  };
  const program: Program = {
    ...{ name: flowId, flowId, flow: 'Hasty', nodes: nodes.slice(0, 1) },
    durability: random.pick([undefined, 'SYNC'] as const),
    initialCounter: 0,
    timeoutMs: undefined,
    timeoutNode: null,
    historyLimit: random.chance(0.3) ? random.between(5, 60) : undefined,
    retentionMs: random.chance(0.3) ? random.magnitude(1_000, 60_000) : undefined,
    calls: new Set(),
  };
  programs.add(program);
  programs.assign(flowId, flowId);
  return program;
}
