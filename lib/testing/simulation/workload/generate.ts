import type { Random } from '../random';
import type { Family } from './family';
import { waitScript } from './generate-wait';
import {
  type CancelScript,
  type FailureKind,
  type FlowName,
  flowSettings,
  type Letter,
  type MethodScript,
  type Next,
  type NodeOptions,
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

/** A program under construction. */
interface Draft {
  readonly random: Random;
  readonly name: string;
  readonly flow: FlowName;
  readonly nodes: ProgramNode[];
  readonly size: number;
  /** What it may ask SubFlows of; undefined: of none. */
  readonly family: Family | undefined;
  readonly continues: boolean;
}

/** The nodes of a program: those of its branches, from the start Step on. */
export function generateNodes(
  random: Random,
  name: string,
  flow: FlowName,
  size: number,
  family: Family | undefined,
  continues: boolean,
): ProgramNode[] {
  const draft: Draft = { random, name, flow, nodes: [], size, family, continues };
  grow(draft, flowSettings[flow].start, 0);
  return draft.nodes;
}

/** Adds a node that something outside of the branches leads to; gives its index. */
export function addNode(random: Random, name: string, flow: FlowName, nodes: ProgramNode[], step: StepName): number {
  return grow({ random, name, flow, nodes, size: nodes.length + 3, family: undefined, continues: false }, step, 1);
}

export const inner: readonly StepName[] = [
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
function grow(draft: Draft, step: StepName, depth: number): number {
  const { random, nodes, name } = draft;
  const index = nodes.length;
  nodes.push(undefined as never);
  const rescue = step === 'Risky' ? grow(draft, 'Rescue', depth + 1) : null;
  const options = depth === 0 ? stepOptions : optionsOf(random, step);
  const node: ProgramNode = {
    index,
    step,
    input: {
      node: index,
      program: name,
      account: random.pick(accountKeys),
      ballast: random.chance(0.85) ? '' : 'x'.repeat(random.magnitude(100, 6_000)),
    },
    options,
    waitFor: methodScript(draft, step, 'waitFor', index),
    execute: methodScript(draft, step, 'execute', index),
    wait: waits.has(step) ? waitScript(random, takes[step].includes('Parcels'), draft.family) : null,
    next: next(draft, depth),
    rescue,
  };
  nodes[index] = node;
  return index;
}

function next(draft: Draft, depth: number): Next {
  const { random, nodes, size, flow } = draft;
  const cancels = cancelScript(random);
  const left = size - nodes.length;
  if (left > 0 && draft.continues && random.chance(0.25)) {
    const keep = random.chance(0.7) ? undefined : ['Counter', 'Ledger', ...(random.chance(0.5) ? ['Note'] : [])];
    return { kind: 'continueAsNew', node: grow(draft, flowSettings[flow].start, 0), keep, cancels };
  }
  if (left > 0 && (depth < 2 || random.chance(0.7))) {
    const count = Math.min(left, random.pick([1, 1, 2, 3]));
    const indexes = Array.from({ length: count }, () => grow(draft, random.pick(inner), depth + 1));
    return { kind: 'goTo', nodes: indexes, cancels };
  }
  const output = random.chance(0.5) ? `output ${nodes.length}` : null;
  const lot = random.next();
  if (lot < 0.6) return { kind: 'gracefulComplete', output, cancels };
  if (lot < 0.8) return { kind: 'deadEnd', cancels };
  if (lot < 0.87) return { kind: 'forceComplete', output };
  if (lot < 0.92) return { kind: 'forceFail' };
  const otherwise = grow({ ...draft, size: 0 }, random.pick(['Plain', 'Counting'] as const), depth + 1);
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

function methodScript({ random, family }: Draft, step: StepName, method: string, index: number): MethodScript {
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
    children: family && random.chance(0.15) ? [family.child(random)] : [],
  };
}

export function letter(random: Random, taken: readonly string[], text: string): Letter | null {
  const channels = (['Letters', 'Parcels'] as const).filter((channel) => taken.includes(channel));
  if (channels.length === 0) return null;
  const channel = random.pick(channels);
  return { channel, key: channel === 'Parcels' ? random.pick(parcelKeys) : undefined, text };
}
