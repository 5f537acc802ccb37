import { attributeKindOf, channelKindOf } from '../authoring';
import {
  type AttributeRecord,
  type ChannelRecord,
  type ConstructorRecord,
  type FlowRecord,
  type LockMark,
  type MemberMark,
  readAttribute,
  readChannel,
  readConstructor,
  readFlow,
  readMembers,
  readStep,
  type StepRecord,
} from '../metadata';
import type { Class } from '../ports';
import type { Report } from './finding';
import { readStart, readSteps } from './statics';

/** A Flow class and all it leads to, before anything was judged. */
export interface FlowDraft {
  readonly type: Class;
  readonly record: FlowRecord | undefined;
  readonly name: string;
  readonly start: StepDraft | undefined;
  /** The start Step first. */
  readonly steps: readonly StepDraft[];
  readonly uses: Uses;
  readonly members: readonly MemberMark[];
  /** Of the Flow and all its Steps, in the order in which they were met. */
  readonly attributes: readonly AttributeDraft[];
  readonly channels: readonly ChannelDraft[];
}

export interface StepDraft {
  readonly type: Class;
  readonly record: StepRecord | undefined;
  readonly name: string;
  readonly uses: Uses;
}

export interface AttributeDraft {
  readonly type: Class;
  readonly record: AttributeRecord | undefined;
  readonly name: string;
  readonly map: boolean;
  /** A class whose constructor takes it. */
  readonly taker: Class;
}

export interface ChannelDraft {
  readonly type: Class;
  readonly record: ChannelRecord | undefined;
  readonly name: string;
  readonly map: boolean;
  /** A class whose constructor takes it. */
  readonly taker: Class;
}

/** What a constructor declares. */
export interface Uses {
  readonly constructed: ConstructorRecord;
  readonly attributes: readonly AttributeUse[];
  readonly channels: readonly Class[];
}

export interface AttributeUse {
  readonly type: Class;
  readonly index: number;
  readonly lock: LockMark | undefined;
}

/** Follows a Flow's statics and constructors to everything it is made of. */
export function collectFlow(type: Class, report: Report): FlowDraft {
  const record = readFlow(type);
  const startType = readStart(type, report);
  const listed = readSteps(type, report);
  const steps = [...new Set([...(startType ? [startType] : []), ...listed])].map(collectStep);
  const uses = collectUses(type, record?.options.inject);
  const takers = [{ type, uses }, ...steps];
  const attributes = takers.flatMap((taker) => taker.uses.attributes.map((use) => [use.type, taker.type] as const));
  const channels = takers.flatMap((taker) => taker.uses.channels.map((channel) => [channel, taker.type] as const));
  return {
    type,
    record,
    name: record?.options.name ?? type.name,
    start: steps.find((step) => step.type === startType),
    steps,
    uses,
    members: readMembers(type),
    attributes: firstOfEach(attributes).map(collectAttribute),
    channels: firstOfEach(channels).map(collectChannel),
  };
}

function collectStep(type: Class): StepDraft {
  const record = readStep(type);
  const name = record?.options.name ?? type.name;
  return { type, record, name, uses: collectUses(type, record?.options.inject) };
}

/** Each class once, with the first that takes it. */
function firstOfEach(taken: readonly (readonly [Class, Class])[]): [Class, Class][] {
  const takers = new Map<Class, Class>();
  for (const [type, taker] of taken) if (!takers.has(type)) takers.set(type, taker);
  return [...takers];
}

function collectAttribute([type, taker]: [Class, Class]): AttributeDraft {
  const record = readAttribute(type);
  return { type, record, name: record?.options.name ?? type.name, map: attributeKindOf(type) === 'map', taker };
}

function collectChannel([type, taker]: [Class, Class]): ChannelDraft {
  const record = readChannel(type);
  return { type, record, name: record?.options.name ?? type.name, map: channelKindOf(type) === 'map', taker };
}

function collectUses(type: Class, inject: unknown): Uses {
  const constructed = readConstructor(type, Array.isArray(inject) ? inject : undefined);
  const classes = constructed.parameters.flatMap(({ index, type: parameter }) =>
    typeof parameter === 'function' ? [{ index, type: parameter as unknown as Class }] : [],
  );
  const ofKind = (kind: 'attribute' | 'channel') => classes.filter((each) => kindOf(each.type) === kind);
  return {
    constructed,
    attributes: ofKind('attribute').map((each) => ({
      ...each,
      lock: constructed.locks.find((mark) => mark.index === each.index),
    })),
    channels: ofKind('channel').map((each) => each.type),
  };
}

/** By its base, and where that says nothing by its mark: a mark that does not fit the base is a finding. */
function kindOf(type: Class): 'attribute' | 'channel' | undefined {
  if (attributeKindOf(type)) return 'attribute';
  if (channelKindOf(type)) return 'channel';
  if (readAttribute(type)) return 'attribute';
  return readChannel(type) ? 'channel' : undefined;
}
