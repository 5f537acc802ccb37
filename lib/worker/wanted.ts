import type { Compiled } from '../compiler';
import type { Subscription } from '../ports';

/** The hints that a worker reads: of its Flows, under their earlier names too (V3). */
export function wantedBy(compiled: Compiled, taskQueues: Subscription['taskQueues']): Subscription {
  const plans = [...compiled.flows.values()].map(({ plan }) => plan);
  const queues = plans.flatMap(({ taskQueue, steps }) => [
    taskQueue,
    ...Object.values(steps).flatMap(({ waitFor, execute }) => [waitFor.taskQueue, execute.taskQueue]),
  ]);
  return {
    flows: plans.flatMap(({ name, aliases }) => [name, ...aliases]),
    taskQueues,
    known: [...new Set(queues)].filter((queue) => queue !== null),
  };
}
