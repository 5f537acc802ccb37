import { type FlowPlan, isPlanOf, timeoutStep } from '../plan';
import { namesFor, storedPlan } from './names';
import { type Address, nameOf } from './payload';
import type { RunState } from './run-state';

/** What an open run has and code lacks. */
export interface Lack {
  readonly what: 'Step' | 'Attribute' | 'Channel';
  /** As the run stores it. */
  readonly name: string;
}

/** What of an open run code with this plan cannot go on with, or would not see (V2). */
export function lacksOf(run: RunState, plan: FlowPlan): Lack[] {
  const view = storedPlan(plan, namesFor(plan, run));
  const lacks: Lack[] = [];
  const note = (what: Lack['what'], names: Iterable<string>, known: Readonly<Record<string, unknown>>) => {
    for (const name of new Set(names)) if (!Object.hasOwn(known, name)) lacks.push({ what, name });
  };
  const steps = [...run.executions.values()].map(({ step }) => step);
  const checks = run.head.closeChecks.map(({ otherwise }) => otherwise.step);
  note('Step', [...steps, ...checks], view.steps);
  note('Attribute', namesIn(run.attributes.all()), view.attributes);
  const unread = [...run.messages.allUnread()].map(([address]) => address);
  note('Channel', namesIn([...unread, ...run.waiters.keys()]), view.channels);
  return lacks;
}

/** Whether any run that some other plan decided can have what code with this plan lacks; names in runs come from plans. */
export function mayLack(plan: FlowPlan, others: readonly FlowPlan[]): boolean {
  const view = storedPlan(plan);
  const known = (names: Readonly<Record<string, { readonly aliases: readonly string[] }>>) =>
    new Set(Object.entries(names).flatMap(([name, { aliases }]) => [name, ...aliases]));
  const attributes = known(view.attributes);
  const channels = known(view.channels);
  return others.some((other) => {
    if (!isPlanOf(plan, other.name)) return false;
    const steps = Object.keys(other.steps).some((name) => !Object.hasOwn(view.steps, name));
    const state = Object.keys(other.attributes).some((name) => !attributes.has(name));
    return steps || state || Object.keys(other.channels).some((name) => !channels.has(name));
  });
}

/** How a Step is called in messages. */
export function stepLabel(name: string): string {
  return name === timeoutStep ? 'a method marked @OnTimeout' : name;
}

function namesIn(addresses: Iterable<Address>): string[] {
  return [...addresses].map(nameOf);
}
