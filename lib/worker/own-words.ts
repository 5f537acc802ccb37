import { type Address, addressOf, type CallTask, keyOf, type Names, nameOf, type Task } from '../core';
import type { FlowPlan } from '../plan';

/** A task in the words of this worker's plan: a run keeps the names it met first (V3). */
export function inOwnWords<T extends Task | CallTask>(task: T, plan: FlowPlan): T {
  if ('step' in task && !plan.steps[task.step]) {
    const renamed = Object.values(plan.steps).find(({ aliases }) => aliases.includes(task.step));
    if (renamed) return inOwnWords({ ...task, step: renamed.name }, plan);
  }
  if (!task.names) return task;
  const attribute = ownAddress(plan, task.names, 'attributes');
  const channel = ownAddress(plan, task.names, 'channels');
  return {
    ...task,
    attributes: task.attributes.map(([address, value]) => [attribute(address), value]),
    channels: task.channels.map((pending) => ({ ...pending, address: channel(pending.address) })),
    locks: task.locks.map((lock) => ({ ...lock, address: attribute(lock.address) })),
    ...('received' in task && { received: task.received.map(([address, values]) => [channel(address), values]) }),
  };
}

function ownAddress(plan: FlowPlan, names: Names, kind: keyof Names): (address: Address) => Address {
  const own = new Map(Object.keys(plan[kind]).map((name) => [names[kind][name] ?? name, name]));
  return (address) => addressOf(own.get(nameOf(address)) ?? nameOf(address), keyOf(address));
}
