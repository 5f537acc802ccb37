import { attributeKindOf, channelKindOf } from '../authoring';
import { lineage, markOf } from '../metadata';
import type { FlowPlan } from '../plan/plan';
import type { Class } from '../ports';
import { checkConstructor } from './check-constructor';
import { checkMembers } from './check-members';
import { checkName, checkUnique, type NamedThing } from './check-names';
import type { AttributeDraft, ChannelDraft, FlowDraft, StepDraft } from './collect';
import { type Report, show } from './finding';

/** A Flow with its plan, as far as one could be made. */
export interface LoweredFlow {
  readonly draft: FlowDraft;
  readonly lowered: Omit<FlowPlan, 'fingerprint'>;
}

/** Rules of one Flow that are no matter of a single option. */
export function checkFlow(flow: FlowDraft, report: Report): void {
  const { type, record, uses } = flow;
  if (!record) {
    report({
      code: 'NOT_A_FLOW',
      where: type.name,
      found: notMarked(type),
      expected: 'a class marked @Flow (F1)',
      fix: inheritsMark(type) ? 'Mark the subclass itself with @Flow().' : 'Mark the class with @Flow().',
    });
  } else {
    checkName({ ...named('@Flow', flow), record }, report);
    checkConstructor(type, '@Flow', uses, record, report);
  }
  for (const mark of uses.constructed.locks) {
    report({
      code: 'BAD_LOCK',
      where: `${type.name} constructor, parameter ${mark.index + 1}`,
      found: 'a lock on a parameter of a Flow',
      expected: 'locks on the parameters of Steps; an RPC names the ones it takes (L1)',
      fix: 'Move it to the RPCs that need it: @Rpc({ locks: [Balance] }).',
    });
  }
  for (const step of flow.steps) checkStep(step, report);
  for (const attribute of flow.attributes) checkAttribute(attribute, report);
  for (const channel of flow.channels) checkChannel(channel, report);
  checkMembers(flow, report);
  checkUnique(
    flow.name,
    'Steps',
    flow.steps.map((each) => named('@Step', each)),
    report,
  );
  checkUnique(
    flow.name,
    'Attributes',
    flow.attributes.map((each) => named('@Attribute', each)),
    report,
  );
  checkUnique(
    flow.name,
    'Channels',
    flow.channels.map((each) => named('@Channel', each)),
    report,
  );
}

/** Rules between the Flows of a registry. */
export function checkRegistry(flows: readonly LoweredFlow[], report: Report): void {
  checkUnique(
    undefined,
    'Flows',
    flows.map(({ draft }) => named('@Flow', draft)),
    report,
  );
  const indexed = new Map<string, { kind: string; flow: string; type: string }>();
  for (const { draft, lowered } of flows) {
    for (const { type, name } of draft.attributes) {
      const kind = lowered.attributes[name]?.index;
      if (!kind) continue;
      const earlier = indexed.get(name);
      if (earlier && earlier.kind !== kind) {
        report({
          code: 'INDEX_CONFLICT',
          where: `${type.name} @Attribute index`,
          found: `'${kind}' for ${name} in ${draft.name}, and '${earlier.kind}' by ${earlier.type} in ${earlier.flow}`,
          expected: 'one kind of index for each Attribute name, as one search goes over all Flows (A4)',
          fix: 'Use the same kind, or give one of them another name.',
        });
      }
      if (!earlier) indexed.set(name, { kind, flow: draft.name, type: type.name });
    }
  }
}

function checkStep(step: StepDraft, report: Report): void {
  const { type, record, uses } = step;
  if (!record) {
    report({
      code: 'NOT_A_STEP',
      where: type.name,
      found: notMarked(type),
      expected: 'a class marked @Step',
      fix: inheritsMark(type) ? 'Mark the subclass itself with @Step().' : 'Mark the class with @Step().',
    });
    return;
  }
  checkName({ ...named('@Step', step), record }, report);
  checkConstructor(type, '@Step', uses, record, report);
  if (typeof type.prototype?.execute === 'function') return;
  report({
    code: 'NO_EXECUTE',
    where: type.name,
    found: 'a Step without a method execute',
    expected: 'execute(input, ctx), which returns a Decision (S1)',
    fix: 'Add the method; as a method and not as a property, which exists only in instances.',
  });
}

function checkAttribute(attribute: AttributeDraft, report: Report): void {
  const { type, record } = attribute;
  const bases = 'DurableAttribute or DurableAttributeMap';
  if (record && !isKept(type)) {
    const instead = channelKindOf(type) ? 'a Channel' : 'a class with another base';
    report({
      code: 'NOT_AN_ATTRIBUTE',
      where: type.name,
      found: `${instead}, marked @Attribute`,
      expected: `a class that extends ${bases} (A1)`,
      fix: channelKindOf(type) ? 'Mark it with @Channel().' : `Extend ${bases}.`,
    });
  }
  if (!record) {
    report({
      code: 'NOT_AN_ATTRIBUTE',
      where: type.name,
      found: `${notMarked(type)}, taken by a constructor`,
      expected: `a class of your own that extends ${bases} and is marked @Attribute`,
      fix: `@Attribute() class Balance extends ${attribute.map ? 'DurableAttributeMap' : 'DurableAttribute'}<number> {}`,
    });
    return;
  }
  checkName({ ...named('@Attribute', attribute), record }, report);
  const { codec, schema } = record.options ?? {};
  if (codec !== undefined && !isCodec(codec)) {
    report({
      code: 'BAD_VALUE',
      where: `${type.name} @Attribute codec`,
      found: show(codec),
      expected: 'an object with a name, encode(value) and decode(stored)',
      fix: 'Give all three; the name is stored with each value.',
    });
  }
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    report({
      code: 'BAD_VALUE',
      where: `${type.name} @Attribute schema`,
      found: show(schema),
      expected: "a Standard Schema: an object with '~standard'.validate",
      fix: 'Give a schema of zod, valibot or another library that follows Standard Schema.',
    });
  }
}

function checkChannel(channel: ChannelDraft, report: Report): void {
  const { type, record, map } = channel;
  const bases = 'DurableChannel or DurableChannelMap';
  if (record && channelKindOf(type) === undefined) {
    report({
      code: 'NOT_A_CHANNEL',
      where: type.name,
      found: `${isKept(type) ? 'an Attribute' : 'a class with another base'}, marked @Channel`,
      expected: `a class that extends ${bases} (C1)`,
      fix: isKept(type) ? 'Mark it with @Attribute().' : `Extend ${bases}.`,
    });
  }
  if (record) {
    checkName({ ...named('@Channel', channel), record }, report);
    return;
  }
  report({
    code: 'NOT_A_CHANNEL',
    where: type.name,
    found: `${notMarked(type)}, taken by a constructor`,
    expected: `a class of your own that extends ${bases} and is marked @Channel`,
    fix: `@Channel() class Approvals extends ${map ? 'DurableChannelMap' : 'DurableChannel'}<Approval> {}`,
  });
}

function named<T extends { type: Class; name: string; record: NamedThing['record'] }>(
  mark: string,
  draft: T,
): NamedThing {
  return { mark, type: draft.type, name: draft.name, record: draft.record };
}

/** A class without a mark of its own; it may have another's, or its base may have one. */
function notMarked(type: Class): string {
  const mark = markOf(type);
  if (mark) return `a class marked ${mark}`;
  const base = lineage(type).find((each) => each !== type && markOf(each) !== undefined);
  return base ? `a class without a mark, although ${base.name}, which it extends, has one` : 'a class without a mark';
}

function inheritsMark(type: Class): boolean {
  return lineage(type).some((each) => each !== type && markOf(each) !== undefined);
}

function isKept(type: Class): boolean {
  return attributeKindOf(type) !== undefined;
}

function isCodec(codec: { name?: unknown; encode?: unknown; decode?: unknown } | null): boolean {
  const { name, encode, decode } = codec ?? {};
  return typeof name === 'string' && name !== '' && typeof encode === 'function' && typeof decode === 'function';
}
