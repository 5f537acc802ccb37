import type { AttributeOptions, FlowOptions, HistoryLimit, RpcOptions } from '../authoring';
import { isCall } from '../metadata';
import {
  type AttributePlan,
  type ChannelPlan,
  defaultConfig,
  defaultMethod,
  type FlowConfig,
  type FlowPlan,
  type IndexKind,
  type RpcPlan,
  type StepPlan,
  timeoutStep,
} from '../plan/plan';
import type { AttributeDraft, ChannelDraft, FlowDraft } from './collect';
import type { Report } from './finding';
import { lockModes, lowerLockRequests } from './lower-locks';
import { type FlowNames, lowerStep } from './lower-step';
import { OptionReader } from './read-options';

const flowOptionNames = [
  'name',
  'aliases',
  'inject',
  'timeout',
  'onTimeout',
  'taskQueue',
  'durability',
  'historyLimit',
  'childrenAtOnce',
  'retention',
] as const;

/** What one may look for among the options. */
const statics = {
  start: 'Say it in the class: static readonly start = FirstStep;',
  steps: 'Say it in the class: static readonly steps = [OtherStep, …];',
};

const attributeOptionNames = ['name', 'aliases', 'index', 'codec', 'schema'] as const;
const queryOptionNames = ['name', 'aliases', 'deadline', 'context'] as const;
const ofRpcs = { locks: 'A Query writes nothing and takes no lock; use @Rpc for a method that writes.' };
const rpcOptionNames = [...queryOptionNames, 'locks', 'onLockConflict', 'transactional'] as const;
const timeoutPolicies = ['fail', 'cancel', 'handler'] as const;

const indexKinds: readonly IndexKind[] = ['keyword', 'text', 'keywordArray', 'int', 'double', 'bool', 'datetime'];

const defaultDeadlineMs = 60_000;

/** Makes the plan of a Flow, taking defaults where an option is wrong and reporting it. Not yet fingerprinted. */
export function lowerFlow(flow: FlowDraft, report: Report): Omit<FlowPlan, 'fingerprint'> {
  const attributes = flow.attributes.map((attribute) => lowerAttribute(attribute, report));
  const channels = flow.channels.map((channel) => lowerChannel(channel, report));
  const names = flowNames(flow, attributes);
  const read = new OptionReader(`${flow.type.name} @Flow`, report);
  const options: Partial<FlowOptions> = read.object(flow.record?.options, flowOptionNames, statics);
  const hasHandler = flow.members.some((mark) => mark.kind === 'onTimeout');
  const { timeout, onTimeout, taskQueue } = options;
  const own = {
    attributes: flow.uses.attributes.map((use) => names.attributeName(use.type)!),
    channels: flow.uses.channels.map((type) => names.channelName(type)!),
  };
  return {
    format: 1,
    name: flow.name,
    aliases: aliasesOf(options),
    start: flow.start?.name ?? null,
    steps: byName([
      ...flow.steps.map((step): StepPlan => lowerStep(step, names, report)),
      ...(hasHandler ? [handlerStep(own)] : []),
    ]),
    attributes: byName(attributes),
    channels: byName(channels),
    own,
    rpcs: byName(lowerRpcs(flow, names, report)),
    timeoutMs: timeout === undefined || timeout === null ? null : read.duration('timeout', timeout, 0),
    onTimeout:
      onTimeout === undefined
        ? hasHandler
          ? 'handler'
          : 'fail'
        : read.oneOf('onTimeout', onTimeout, timeoutPolicies, 'fail'),
    taskQueue: taskQueue === undefined ? 'default' : read.queue('taskQueue', taskQueue, 'default'),
    config: lowerConfig(options, read),
  };
}

/** A method marked `@OnTimeout` runs like the `execute` of a Step, with what the Flow class takes (F7). */
function handlerStep(own: FlowPlan['own']): StepPlan {
  return {
    name: timeoutStep,
    aliases: [],
    hasWaitFor: false,
    ...own,
    waitFor: defaultMethod,
    execute: defaultMethod,
    locks: [],
    onFailure: null,
    onWaitForFailure: 'fail',
  };
}

function lowerConfig(options: Partial<FlowOptions>, read: OptionReader): FlowConfig {
  const { durability, historyLimit, retention, childrenAtOnce } = options;
  const limit: HistoryLimit =
    typeof historyLimit === 'number'
      ? { events: historyLimit }
      : read.in('historyLimit').object<HistoryLimit>(historyLimit, ['events', 'bytes']);
  const whole = { least: 1, whole: true };
  const { historyLimitEvents, historyLimitBytes, retentionMs } = defaultConfig;
  const count = (name: string, value: number | undefined, fallback: number) =>
    value === undefined ? fallback : read.number(name, value, whole, fallback);
  return {
    durability:
      durability === undefined
        ? defaultConfig.durability
        : read.oneOf('durability', durability, ['SYNC', 'ASYNC'], 'SYNC'),
    historyLimitEvents: count('historyLimit events', limit.events, historyLimitEvents),
    historyLimitBytes: count('historyLimit bytes', limit.bytes, historyLimitBytes),
    retentionMs: retention === undefined ? retentionMs : read.duration('retention', retention, retentionMs),
    ...(childrenAtOnce !== undefined && { childrenAtOnce: read.number('childrenAtOnce', childrenAtOnce, whole, 1) }),
  };
}

function lowerAttribute(attribute: AttributeDraft, report: Report): AttributePlan {
  const read = new OptionReader(`${attribute.type.name} @Attribute`, report);
  const options: Partial<AttributeOptions> = read.object(attribute.record?.options, attributeOptionNames);
  const index = options.index === undefined ? null : read.oneOf('index', options.index, indexKinds, 'keyword');
  if (index !== null && attribute.map) {
    report({
      code: 'BAD_INDEX',
      where: `${attribute.type.name} @Attribute index`,
      found: `index '${index}' on a map`,
      expected: 'an index only on an Attribute with a single value',
      fix: 'Leave the index out, or keep what is searched for in an Attribute of its own.',
    });
  }
  return {
    name: attribute.name,
    aliases: aliasesOf(options),
    map: attribute.map,
    lock: read.oneOf('lock', attribute.record?.lock ?? 'none', lockModes, 'none'),
    index,
  };
}

function lowerChannel(channel: ChannelDraft, report: Report): ChannelPlan {
  const read = new OptionReader(`${channel.type.name} @Channel`, report);
  const options = read.object(channel.record?.options, ['name', 'aliases']);
  return { name: channel.name, aliases: aliasesOf(options), map: channel.map };
}

function lowerRpcs(flow: FlowDraft, names: FlowNames, report: Report): RpcPlan[] {
  return flow.members.flatMap((mark) => {
    if (!isCall(mark) || typeof mark.method === 'symbol') return [];
    const label = mark.kind === 'rpc' ? '@Rpc' : '@Query';
    const read = new OptionReader(`${flow.type.name}.${mark.method} ${label}`, report);
    const known = mark.kind === 'rpc' ? rpcOptionNames : queryOptionNames;
    const options: Partial<RpcOptions> = read.object<RpcOptions>(
      mark.options,
      known,
      mark.kind === 'query' ? ofRpcs : {},
    );
    const { deadline, onLockConflict, transactional } = options;
    return [
      {
        name: options.name ?? mark.method,
        aliases: aliasesOf(options),
        kind: mark.kind,
        hasValidator: flow.members.some((other) => other.kind === 'validator' && other.rpc === mark.method),
        locks: lowerLockRequests(options.locks, [], names.attribute, read.in('locks')),
        onLockConflict:
          onLockConflict === undefined
            ? 'wait'
            : read.oneOf('onLockConflict', onLockConflict, ['wait', 'reject'], 'wait'),
        transactional: transactional === undefined ? false : read.boolean('transactional', transactional, false),
        deadlineMs: deadline === undefined ? defaultDeadlineMs : read.duration('deadline', deadline, 1, 1),
      },
    ];
  });
}

function flowNames(flow: FlowDraft, attributes: readonly AttributePlan[]): FlowNames {
  const lockables = new Map(flow.attributes.map((attribute, index) => [attribute.type, attributes[index]]));
  return {
    stepName: (type) => flow.steps.find((step) => step.type === type)?.name,
    attribute: (type) => lockables.get(type),
    attributeName: (type) => lockables.get(type)?.name,
    channelName: (type) => flow.channels.find((channel) => channel.type === type)?.name,
  };
}

function aliasesOf(options: { readonly aliases?: readonly string[] }): readonly string[] {
  return Array.isArray(options.aliases) ? [...options.aliases] : [];
}

function byName<T extends { readonly name: string }>(list: readonly T[]): Readonly<Record<string, T>> {
  return Object.fromEntries(list.map((each) => [each.name, each]));
}
