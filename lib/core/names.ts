import type { FlowPlan, LockPlan, StepPlan } from '../plan';
import { type Address, addressOf, keyOf, nameOf } from './payload';
import type { RunState } from './run-state';

type Renamed = Readonly<Record<string, string>>;

/**
 * Which names in plans stand for what a run stores under another one, because code was renamed while the run was open (V3).
 * A run keeps to the name it met first, so that older and newer code can serve it side by side.
 */
export interface Names {
  readonly attributes: Renamed;
  readonly channels: Renamed;
}

type Kind = keyof Names;

const kinds: readonly Kind[] = ['attributes', 'channels'];

const noNames: Names = { attributes: {}, channels: {} };

/**
 * The names of a run, with what this plan adds to them; the same object where it adds nothing. A run that was never told of
 * any of them was begun with an earlier one.
 */
export function namesFor(plan: FlowPlan, run: RunState | undefined): Names | undefined {
  let names = run?.head.names ?? noNames;
  for (const { kind, name, aliases } of renamedIn(plan)) {
    const all = [name, ...aliases];
    const known = all.map((each) => names[kind][each]).find((each) => each !== undefined);
    const stored = known ?? (run ? (all.find((each) => isStored(run, kind, each)) ?? aliases.at(-1)!) : name);
    const fresh = all.filter((each) => each !== stored && names[kind][each] === undefined);
    if (fresh.length === 0) continue;
    names = { ...names, [kind]: { ...names[kind], ...Object.fromEntries(fresh.map((each) => [each, stored])) } };
  }
  return names === noNames ? undefined : names;
}

interface Renaming {
  readonly kind: Kind;
  readonly name: string;
  readonly aliases: readonly string[];
}

const renamings = new WeakMap<FlowPlan, readonly Renaming[]>();

/** Attributes and Channels of a plan that had other names; looked for once, as every command asks. */
function renamedIn(plan: FlowPlan): readonly Renaming[] {
  let renamed = renamings.get(plan);
  if (!renamed) {
    renamed = kinds
      .flatMap((kind) => Object.values(plan[kind]).map(({ name, aliases }) => ({ kind, name, aliases })))
      .filter(({ aliases }) => aliases.length > 0);
    renamings.set(plan, renamed);
  }
  return renamed;
}

function isStored(run: RunState, kind: Kind, name: string): boolean {
  const addresses =
    kind === 'channels'
      ? [...[...run.messages.allUnread()].map(([address]) => address), ...run.waiters.keys()]
      : [...run.attributes.addressesOf(name), ...run.locks.describe().map(({ address }) => address)];
  return addresses.some((address) => nameOf(address) === name);
}

const storedPlans = new WeakMap<FlowPlan, WeakMap<Names, FlowPlan>>();

/** The plan in the words of the run; Steps are found under their earlier names too. */
export function storedPlan(plan: FlowPlan, names: Names = noNames): FlowPlan {
  let byNames = storedPlans.get(plan);
  if (!byNames) {
    byNames = new WeakMap();
    storedPlans.set(plan, byNames);
  }
  let stored = byNames.get(names);
  if (!stored) {
    stored = translatePlan(plan, names);
    byNames.set(names, stored);
  }
  return stored;
}

function translatePlan(plan: FlowPlan, names: Names): FlowPlan {
  const { steps, attributes, channels } = plan;
  const all = [...Object.values(steps ?? {}), ...Object.values(attributes ?? {}), ...Object.values(channels ?? {})];
  const isOwn = kinds.every((kind) => Object.keys(plan[kind] ?? {}).every((name) => !names[kind][name]));
  if (isOwn && all.every(({ aliases }) => aliases.length === 0)) return plan;
  const attribute = wordsOf(names, 'attributes');
  const channel = wordsOf(names, 'channels');
  const locks = (list: readonly LockPlan[]) => list.map((lock) => ({ ...lock, attribute: attribute(lock.attribute) }));
  const step = (each: StepPlan): StepPlan => ({
    ...each,
    attributes: each.attributes.map(attribute),
    channels: each.channels.map(channel),
    locks: locks(each.locks),
  });
  const named = Object.entries(steps).map(([name, each]) => [name, step(each)] as const);
  const earlier = named.flatMap(([, each]) => each.aliases.map((alias) => [alias, each] as const));
  return {
    ...plan,
    steps: Object.fromEntries([...earlier, ...named]),
    attributes: Object.fromEntries(Object.entries(attributes).map(([name, each]) => [attribute(name), each])),
    channels: Object.fromEntries(Object.entries(channels).map(([name, each]) => [channel(name), each])),
    own: { attributes: plan.own.attributes.map(attribute), channels: plan.own.channels.map(channel) },
    rpcs: Object.fromEntries(
      Object.entries(plan.rpcs).map(([name, rpc]) => [name, { ...rpc, locks: locks(rpc.locks) }]),
    ),
  };
}

/** The stored name of a plan's name. */
export function wordsOf(names: Names, kind: Kind): (name: string) => string {
  return (name) => names[kind][name] ?? name;
}

/** The stored address of a plan's address. */
export function storedAddress(names: Names, kind: Kind, address: Address): Address {
  const stored = names[kind][nameOf(address)];
  return stored === undefined ? address : addressOf(stored, keyOf(address));
}
