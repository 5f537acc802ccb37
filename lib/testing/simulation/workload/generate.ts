import type { Random } from '../random';
import { waitScript } from './generate-wait';
import {
  type CancelScript,
  type FailureKind,
  type Letter,
  type MethodScript,
  type Next,
  type NodeOptions,
  type Program,
  type ProgramNode,
  type StepName,
  stepOptions,
} from './program';
import { accountKeys, parcelKeys, tagKeys } from './state';

/** What a Step of each kind has in its constructor. */
export const takes: Readonly<Record<StepName, readonly string[]>> = {
  Plain: ['Note', 'Tags', 'Letters', 'Parcels'],
  Waiting: ['Note', 'Tags', 'Letters', 'Parcels'],
  Risky: ['Note', 'Tags', 'Letters', 'Parcels'],
  Rescue: ['Note', 'Tags', 'Letters', 'Parcels'],
  Counting: ['Counter', 'Note', 'Letters'],
  CountingLate: ['Counter', 'Note', 'Letters'],
  Booking: ['Ledger', 'Note'],
  Reading: ['Counter', 'Ledger'],
};

export const waits: ReadonlySet<StepName> = new Set(['Waiting', 'CountingLate']);

const flowIds = ['a', 'order:1/ü', '\u{1F680} x', '日本', 'b\\"quoted', `${'long'.repeat(30)}`];

export function generateProgram(random: Random, number: number): Program {
  const nodes: ProgramNode[] = [];
  const flow = random.chance(0.6) ? 'Steady' : 'Hasty';
  const size = random.between(2, 12);
  grow(random, nodes, flow === 'Steady' ? 'Plain' : 'Waiting', size, 0);
  return {
    flowId: `${flowIds[number % flowIds.length]}#${number}`,
    flow,
    durability: random.pick([undefined, undefined, 'SYNC', 'ASYNC'] as const),
    nodes,
    initialCounter: random.below(3),
  };
}

const inner: readonly StepName[] = [
  'Plain',
  'Waiting',
  'Risky',
  'Counting',
  'Counting',
  'CountingLate',
  'Booking',
  'Reading',
];

/** Adds a node and those it leads to; gives its index. */
function grow(random: Random, nodes: ProgramNode[], step: StepName, size: number, depth: number): number {
  const index = nodes.length;
  nodes.push(undefined as never);
  const rescue = step === 'Risky' ? grow(random, nodes, 'Rescue', size, depth + 1) : null;
  const options = depth === 0 ? stepOptions : optionsOf(random, step);
  const node: ProgramNode = {
    index,
    step,
    input: {
      node: index,
      account: random.pick(accountKeys),
      ballast: random.chance(0.85) ? '' : 'x'.repeat(random.magnitude(100, 6_000)),
    },
    options,
    waitFor: methodScript(random, step, 'waitFor', index),
    execute: methodScript(random, step, 'execute', index),
    wait: waits.has(step) ? waitScript(random, takes[step].includes('Parcels')) : null,
    next: next(random, nodes, size, depth),
    rescue,
  };
  nodes[index] = node;
  return index;
}

function next(random: Random, nodes: ProgramNode[], size: number, depth: number): Next {
  const cancels = cancelScript(random);
  const left = size - nodes.length;
  if (left > 0 && (depth < 2 || random.chance(0.7))) {
    const count = Math.min(left, random.pick([1, 1, 2, 3]));
    const indexes = Array.from({ length: count }, () => grow(random, nodes, random.pick(inner), size, depth + 1));
    return { kind: 'goTo', nodes: indexes, cancels };
  }
  const output = random.chance(0.5) ? `output ${nodes.length}` : null;
  const lot = random.next();
  if (lot < 0.6) return { kind: 'gracefulComplete', output, cancels };
  if (lot < 0.8) return { kind: 'deadEnd', cancels };
  if (lot < 0.87) return { kind: 'forceComplete', output };
  if (lot < 0.92) return { kind: 'forceFail' };
  const otherwise = grow(random, nodes, random.pick(['Plain', 'Counting'] as const), 0, depth + 1);
  return { kind: 'completeIfEmpty', otherwise };
}

function cancelScript(random: Random): CancelScript | null {
  if (!random.chance(0.1)) return null;
  return { steps: [random.pick(inner), random.pick(inner)], siblingsOnly: random.chance(0.5) };
}

function optionsOf(random: Random, step: StepName): NodeOptions {
  return {
    durability: random.pick([undefined, undefined, 'SYNC', 'ASYNC'] as const),
    timeout: random.magnitude(5_000, 60_000),
    heartbeatTimeout: random.magnitude(1_000, 20_000),
    startTimeout: random.chance(0.1) ? random.magnitude(500, 60_000) : null,
    onWaitForFailure: random.chance(0.5) ? 'proceed' : 'fail',
    retry: {
      initialInterval: random.magnitude(1, 2_000),
      coefficient: random.pick([1, 2, 3]),
      maximumInterval: random.magnitude(2_000, 10_000),
      maximumAttempts: step === 'Risky' ? random.between(1, 3) : random.pick([3, 5, 10, null]),
    },
  };
}

const failureKinds: readonly FailureKind[] = [
  ...([
    'throws',
    'throws',
    'throws',
    'throws',
    'retryAfter',
    'retryAfter',
    'hangs',
    'nonRetryable',
    'definition',
  ] as const),
];

function methodScript(random: Random, step: StepName, method: string, index: number): MethodScript {
  const failing = random.chance(step === 'Risky' ? 0.7 : 0.25);
  const taken = takes[step];
  return {
    failures: failing ? random.between(1, 3) : 0,
    how: random.pick(failureKinds),
    // Ends within any method timeout.
    sleepMs: random.chance(0.5) ? 0 : random.magnitude(1, 2_000),
    beats: random.chance(0.7) ? 0 : random.between(1, 3),
    deaf: random.chance(0.2),
    note: taken.includes('Note') && random.chance(0.5) ? `note ${index} ${method}` : null,
    tag: taken.includes('Tags') && random.chance(0.3) ? [random.pick(tagKeys), random.between(-1, 9)] : null,
    publishes: Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, (_, i) =>
      letter(random, taken, `letter ${index} ${method} ${i}`),
    ).filter((each) => each !== null),
  };
}

function letter(random: Random, taken: readonly string[], text: string): Letter | null {
  const channels = (['Letters', 'Parcels'] as const).filter((channel) => taken.includes(channel));
  if (channels.length === 0) return null;
  const channel = random.pick(channels);
  return { channel, key: channel === 'Parcels' ? random.pick(parcelKeys) : undefined, text };
}
