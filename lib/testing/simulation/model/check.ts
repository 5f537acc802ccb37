import type { SimProcess } from '../sim-process';
import type { Journal } from '../workload/journal';
import type { Children } from './child-model';

/** What the model needs besides the history to judge it. */
export interface Witness {
  readonly journal: Journal;
  /** The process that wrote what is judged, and since when it owns the shard. */
  readonly writer: SimProcess;
  readonly ownerSince: number;
  /** Wall clocks have jumped, or reads were slow: times of the shard's clock and of beats cannot be compared closely. */
  readonly timesAreVague: boolean;
  /** Whether a worker has ended, or cannot be reached by the writer, so that it may be taken for gone. */
  hasLeft(name: string): boolean;
  /** The last time before `until` at which the writer heard a beat of the worker. */
  lastHeard(worker: string, until: number): number | undefined;
  readonly tokens: Map<string, TokenModel>;
  readonly children: Children;
  /** A flowId is to run a program from here on: that of a SubFlow. */
  assign(flowId: string, program: string): void;
  decode(payload: Uint8Array): unknown;
  violated(rule: string, what: string): void;
}

/** A hand-out that is durable. */
export interface TokenModel {
  readonly chainId: string;
  readonly execution: string;
  readonly method: string;
  readonly worker: string;
  isRunning: boolean;
}

export type Check = (condition: boolean, rule: string, what: string) => boolean;
