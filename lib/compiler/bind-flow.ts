import { RpcContext } from '../authoring';
import { isCall } from '../metadata';
import { fingerprintOf } from '../plan/fingerprint';
import { type FlowPlan, timeoutStep } from '../plan/plan';
import type { Class } from '../ports';
import type { FlowDraft } from './collect';
import type { AttributeBinding, ChannelBinding, CompiledFlow, RpcBinding } from './compiled';

/** Freezes a lowered plan and ties it to its classes. */
export function bindFlow(draft: FlowDraft, lowered: Omit<FlowPlan, 'fingerprint'>): CompiledFlow {
  const plan: FlowPlan = deepFreeze({ ...lowered, fingerprint: fingerprintOf(lowered) });
  const attributes = draft.attributes.map(({ type, name, record }): AttributeBinding => {
    const { codec, schema } = record?.options ?? {};
    const own = plan.attributes[name];
    return Object.freeze({ name, type, plan: own, ...(codec ? { codec } : {}), ...(schema ? { schema } : {}) });
  });
  const channels = draft.channels.map(
    ({ type, name }): ChannelBinding => Object.freeze({ name, type, plan: plan.channels[name] }),
  );
  const rpcs = bindRpcs(draft, plan);
  const steps = draft.steps.map(({ type, name }) => ({ type, name, plan: plan.steps[name] }));
  const onTimeout = draft.members.find((mark) => mark.kind === 'onTimeout');

  const stepTypes = byName(steps);
  const stepNames = new Map(steps.map((step) => [step.type, step.name]));
  const attributesByType = new Map(attributes.map((each) => [each.type, each]));
  const attributesByName = byName(attributes);
  const channelsByType = new Map(channels.map((each) => [each.type, each]));
  const channelsByName = byName(channels);
  const rpcsByName = byName(rpcs);
  return Object.freeze({
    plan,
    type: draft.type,
    timeoutMethod: onTimeout === undefined ? undefined : String(onTimeout.method),
    stepType: (name) => (name === timeoutStep ? draft.type : stepTypes.get(name)?.type),
    stepName: (type) => stepNames.get(type),
    attributeOf: (type) => attributesByType.get(type),
    attributeNamed: (name) => attributesByName.get(name),
    channelOf: (type) => channelsByType.get(type),
    channelNamed: (name) => channelsByName.get(name),
    rpcNamed: (name) => rpcsByName.get(name),
    rpcOf: (method) => rpcs.find((each) => each.method === method),
  } satisfies CompiledFlow);
}

function bindRpcs(draft: FlowDraft, plan: FlowPlan): RpcBinding[] {
  return draft.members.flatMap((mark) => {
    if (!isCall(mark) || typeof mark.method === 'symbol') return [];
    const validator = draft.members.find((other) => other.kind === 'validator' && other.rpc === mark.method);
    const name = mark.options.name ?? mark.method;
    return [
      Object.freeze({
        name,
        method: mark.method,
        contextAt: contextAt(draft.type, mark.method, mark.options.context),
        validator: validator ? String(validator.method) : undefined,
        plan: plan.rpcs[name],
      }),
    ];
  });
}

function contextAt(type: Class, method: string, said: boolean | undefined): number | undefined {
  const types: unknown = Reflect.getMetadata('design:paramtypes', type.prototype, method);
  const at = Array.isArray(types) ? types.indexOf(RpcContext) : -1;
  if (at >= 0) return at;
  return said ? type.prototype[method].length - 1 : undefined;
}

interface Named {
  readonly name: string;
  readonly plan: { readonly aliases: readonly string[] };
}

/** Names win over aliases. */
function byName<T extends Named>(list: readonly T[]): ReadonlyMap<string, T> {
  const aliases = list.flatMap((each) => each.plan.aliases.map((alias) => [alias, each] as const));
  return new Map([...aliases, ...list.map((each) => [each.name, each] as const)]);
}

function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
