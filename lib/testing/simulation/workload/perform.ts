import {
  allOf,
  anyCombinationOf,
  anyOf,
  type Condition,
  completeIfEmpty,
  continueAsNew,
  type Decision,
  deadEnd,
  forceComplete,
  forceFail,
  goToMany,
  gracefulComplete,
  retryAfter,
  type StepContext,
  Timer,
  until,
  type Wait,
} from '../../../authoring';
import { childCondition, startChildren } from './children';
import { movementOf } from './movement';
import type { Probe } from './probe';
import { type ConditionScript, type MethodScript, type NodeInput, nonRetryableName, type ProgramNode } from './program';
import { type Seen, showOutcome } from './seen';
import { attributeNamed, Letters, type Note, type Parcels, parcelKeys, type Tags } from './state';
import { flowNamed, stepNamed } from './step-names';

/** State that a Step may touch, and what it does with what is its own. */
export interface Hands {
  readonly note?: Note;
  readonly tags?: Tags;
  readonly letters?: Letters;
  readonly parcels?: Parcels;
  /** Attributes of the Step's own. */
  look(input: NodeInput): Record<string, unknown>;
  /** Writes them. */
  write?(input: NodeInput): void;
}

const outputOf = (node: ProgramNode) => ('output' in node.next ? node.next.output : null);

export async function performWait(probe: Probe, input: NodeInput, ctx: StepContext, hands: Hands): Promise<Wait> {
  const node = probe.node(ctx, input);
  await perform(probe, node.waitFor, input, ctx, hands);
  ctx.locals.set('mark', `${ctx.stepExecutionId} #${ctx.attempt}`);
  return waitOf(node, hands);
}

export async function performExecute(
  probe: Probe,
  input: NodeInput,
  ctx: StepContext,
  hands: Hands,
): Promise<Decision> {
  const node = probe.node(ctx, input);
  await perform(probe, node.execute, input, ctx, hands);
  return decisionOf(node, probe, ctx);
}

/** What the method of a Flow does that is called at its deadline (F7). */
export async function performTimeout(probe: Probe, ctx: StepContext, hands: Hands): Promise<Decision> {
  const node = probe.timeoutNode(ctx);
  await perform(probe, node.execute, node.input, ctx, hands);
  return decisionOf(node, probe, ctx);
}

async function perform(probe: Probe, script: MethodScript, input: NodeInput, ctx: StepContext, hands: Hands) {
  const body = probe.enter(look(input, ctx, hands));
  try {
    // What a failed attempt stages must leave no trace.
    write(script, input, hands, ctx);
    const fails = ctx.attempt <= script.failures;
    for (let beat = 1; beat <= script.beats; beat++) {
      body.beats.push(ctx.attempt * 100 + beat);
      ctx.heartbeat(ctx.attempt * 100 + beat);
      await probe.sleep(Math.ceil(script.sleepMs / (script.beats + 1)), ctx.signal, script.deaf);
    }
    if (script.sleepMs > 0) await probe.sleep(script.sleepMs, ctx.signal, script.deaf);
    if (fails) await fail(script, ctx, probe);
    body.ended = 'returned';
  } catch (error) {
    body.ended = 'threw';
    throw error;
  }
}

function look(input: NodeInput, ctx: StepContext, hands: Hands): Seen {
  const attributes = hands.look(input);
  if (hands.note) attributes.Note = hands.note.get() ?? null;
  if (hands.tags) for (const key of hands.tags.keys()) attributes[`Tags ${key}`] = hands.tags.get(key);
  const unread: Record<string, string[]> = {};
  const received: Record<string, string[]> = {};
  if (hands.letters) {
    unread.Letters = hands.letters.peek();
    received.Letters = ctx.method === 'execute' ? hands.letters.received() : [];
  }
  for (const key of hands.parcels ? parcelKeys : []) {
    unread[`Parcels ${key}`] = hands.parcels!.peek(key);
    received[`Parcels ${key}`] = ctx.method === 'execute' ? hands.parcels!.received(key) : [];
  }
  const ids = ['t0', 't1', 't2'];
  return {
    attributes,
    unread,
    received,
    fired: ctx.method === 'execute' ? ids.filter((id) => ctx.fired(id)) : [],
    local: ctx.locals.get<string>('mark') ?? null,
    subFlows: ctx.method === 'execute' ? outcomesOf(ctx) : {},
  };
}

function outcomesOf(ctx: StepContext): Record<string, string> {
  const outcomes: Record<string, string> = {};
  for (const id of ['s0', 's1']) {
    const outcome = ctx.subFlow(id);
    if (outcome) outcomes[id] = showOutcome(outcome.status, outcome.outputs);
  }
  return outcomes;
}

function write(script: MethodScript, input: NodeInput, hands: Hands, ctx: StepContext): void {
  if (script.note !== null) hands.note!.set(`${script.note} #${ctx.attempt}`);
  if (script.tag !== null) {
    if (script.tag[1] < 0) hands.tags!.delete(script.tag[0]);
    else hands.tags!.set(script.tag[0], script.tag[1]);
  }
  if (ctx.method === 'execute') hands.write?.(input);
  for (const { channel, key, text } of script.publishes) {
    const unique = `${text} of ${ctx.stepExecutionId}`;
    if (channel === 'Letters') hands.letters!.publish(unique);
    else hands.parcels!.publish(key!, unique);
  }
  startChildren(script.children);
}

async function fail(script: MethodScript, ctx: StepContext, probe: Probe): Promise<void> {
  const error = new Error(`attempt ${ctx.attempt} was told to fail`);
  switch (script.how) {
    case 'throws':
      throw error;
    case 'nonRetryable':
      error.name = nonRetryableName;
      throw error;
    case 'retryAfter':
      throw retryAfter(700, error);
    case 'hangs':
      // Longer than any timeout of the workload.
      return probe.sleep(90_000, ctx.signal, script.deaf);
    case 'definition':
      goToMany([]);
  }
}

function waitOf(node: ProgramNode, hands: Hands): Wait {
  const { how, conditions: scripts, candidates } = node.wait!;
  const conditions = scripts.map((script) => conditionOf(script, hands));
  switch (how) {
    case 'until':
      return until(conditions[0]!);
    case 'allOf':
      return allOf(...conditions);
    case 'anyOf':
      return anyOf(...conditions);
    case 'anyCombinationOf':
      return anyCombinationOf(...candidates.map((candidate) => candidate.map((index) => conditions[index]!)));
  }
}

function conditionOf(script: ConditionScript, { letters, parcels }: Hands): Condition {
  if (script.kind === 'timer') return Timer.after(script.afterMs, script.id);
  if (script.kind === 'subFlow') return childCondition(script.child, script.id, script.cancelWithWait);
  const { take, min, max, id } = script;
  const amounts = take === 'take' || take === 'takeAtLeast' ? [min] : take === 'takeUpTo' ? [max] : [min, max];
  const channel = (script.channel === 'Letters' ? letters : parcels) as any;
  return channel[take](...(script.channel === 'Letters' ? [] : [script.key]), ...amounts, id);
}

function decisionOf(node: ProgramNode, probe: Probe, ctx: StepContext): Decision {
  const { next } = node;
  const output = outputOf(node);
  const movement = (index: number) => movementOf(probe.nodeAt(ctx, index));
  switch (next.kind) {
    case 'goTo':
      return cancelling(goToMany(next.nodes.map(movement)), node);
    case 'gracefulComplete':
      return cancelling(output === null ? gracefulComplete() : gracefulComplete(output), node);
    case 'forceComplete':
      return output === null ? forceComplete() : forceComplete(output);
    case 'forceFail':
      return forceFail('the program says so');
    case 'deadEnd':
      return cancelling(deadEnd(), node);
    case 'completeIfEmpty':
      return completeIfEmpty([Letters], undefined as never, movement(next.otherwise) as never);
    case 'continueAsNew': {
      const { input } = probe.nodeAt(ctx, next.node);
      const carry = next.keep && { attributes: next.keep.map(attributeNamed) };
      return cancelling(continueAsNew(flowNamed(probe.program(ctx).flow), ...([input, carry ?? {}] as never)), node);
    }
  }
}

function cancelling<D extends Decision>(decision: D, { next }: ProgramNode): D {
  if (!('cancels' in next) || next.cancels === null) return decision;
  const steps = next.cancels.steps.map(stepNamed);
  return next.cancels.siblingsOnly ? decision.cancellingSiblings(...steps) : decision.cancelling(...steps);
}
