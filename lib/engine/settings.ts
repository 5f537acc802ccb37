import type { QueuePolicies } from '../ports';

/** Settings of an engine; the defaults suit one process. */
export interface EngineSettings {
  /** Fixed when the store is made. */
  readonly shards: number;
  /** Requests that may be unanswered at a time before new ones are refused with `OVERLOADED` (P9). */
  readonly maximumBacklog: number;
  /** A write without an answer for this long counts as unknown. */
  readonly writeTimeoutMs: number;
  /** Flows without anything outstanding that stay in memory. */
  readonly idleFlowsInMemory: number;
  /** Task queues with a policy (T1). */
  readonly taskQueues: QueuePolicies;
  /** The dispatch sees to rate limits and concurrency, because they hold over many engines; else this engine does. */
  readonly limitedByDispatch: boolean;
}

export const defaultSettings: EngineSettings = {
  shards: 1,
  maximumBacklog: 20_000,
  writeTimeoutMs: 30_000,
  idleFlowsInMemory: 2_000,
  taskQueues: new Map(),
  limitedByDispatch: false,
};
