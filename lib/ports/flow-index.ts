import type { IndexKind } from '../plan/plan';

/**
 * Where runs are searched for: a copy of what can be made again from the stores, fed by the owners of shards after each
 * save. One feeder a shard; every adapter passes `test/support/index-conformance`.
 */
export interface FlowIndex {
  /** Names the adapter and place for messages, without secrets. */
  readonly location: string;
  /**
   * Makes what is missing of the tables and takes a shard over: whoever fed it before is refused from here on, and no run of
   * it counts as blocked. Gives false where the rows of the shard are not of this feed, and have to be written anew. Throws
   * `FENCED` for an owner that has a successor, `INDEX_UNAVAILABLE`.
   */
  takeOver(feeder: Feeder): Promise<boolean>;
  /**
   * Applies all changes or none. `batch` grows with each call of a feeder: one that comes after a later one is refused.
   * A run's older state never replaces a newer one. Throws `FENCED` where another feeder has taken over or a later batch was
   * written, and `INDEX_UNAVAILABLE` where the outcome is unknown or the feeder must take over again.
   */
  write(feeder: Feeder, batch: number, changes: IndexChanges): Promise<void>;
  /** Runs in the order of the query. Throws `INDEX_UNAVAILABLE`. */
  list(query: IndexQuery): Promise<readonly IndexedRun[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** An owner of a shard, as an index sees it. */
export interface Feeder {
  readonly shard: number;
  readonly epoch: number;
  /** Names what is written until the shard is written anew; owners of the shard hand it on. */
  readonly feed: string;
}

export interface IndexChanges {
  readonly put: readonly IndexedRun[];
  /** Runs that are kept no longer. */
  readonly remove: readonly string[];
  /** What open runs of a flowId lack now; empty: nothing. */
  readonly blocked: readonly (readonly [flowId: string, blocked: readonly string[]])[];
  /** Runs that cannot be read: their rows stay. */
  readonly keep: readonly string[];
  /** The shard is written anew: what no change of this feed named goes. */
  readonly sweep: boolean;
}

/** One run as it is listed. */
export interface IndexedRun {
  readonly flowId: string;
  readonly runId: string;
  /** The same for all runs of a chain made by continue-as-new. */
  readonly chainId: string;
  readonly flow: string;
  readonly status: string;
  readonly failKind: string | null;
  readonly startedAt: number;
  readonly closedAt: number | null;
  /** flowIds of the Flows whose SubFlow it is. */
  readonly parents: readonly string[];
  /** Why it does not go on: Steps that no worker has, or an error. */
  readonly blocked: readonly string[];
  /** Number of the last event that is in here. */
  readonly events: number;
  readonly attributes: readonly IndexedAttribute[];
}

export interface IndexedAttribute {
  readonly name: string;
  readonly kind: IndexKind;
  readonly shown: string | number | boolean | readonly string[] | null;
  /** What it is found by. A listing does not give them. */
  readonly terms: readonly (string | number)[];
}

export interface IndexQuery {
  /** All must hold. */
  readonly filters: readonly IndexFilter[];
  readonly orderBy: IndexOrder;
  readonly descending: boolean;
  /** The last run of the page before; ties are in the order of the runId. */
  readonly after: { readonly key: string | number; readonly runId: string } | null;
  readonly limit: number;
}

/** By `closedAt` there are closed runs only. */
export type IndexOrder = 'startedAt' | 'closedAt' | 'flowId';

export type IndexFilter =
  | { readonly kind: 'all' | 'any'; readonly of: readonly IndexFilter[] }
  | { readonly kind: 'not'; readonly of: IndexFilter }
  | {
      readonly kind: 'is';
      readonly field: 'flow' | 'status' | 'flowId' | 'runId' | 'chainId' | 'parent';
      readonly values: readonly string[];
    }
  | { readonly kind: 'startsWith'; readonly field: 'flowId'; readonly prefix: string }
  | { readonly kind: 'range'; readonly field: 'startedAt' | 'closedAt'; readonly range: IndexRange }
  | { readonly kind: 'blocked'; readonly is: boolean }
  /** One of that name, or an earlier one. null: there is a value. */
  | { readonly kind: 'attribute'; readonly names: readonly string[]; readonly test: TermTest | null };

/** What one term of an Attribute has to be; all terms of one are texts, or all are numbers. */
export type TermTest =
  | { readonly kind: 'is'; readonly terms: readonly (string | number)[] }
  | { readonly kind: 'startsWith'; readonly prefix: string }
  | { readonly kind: 'range'; readonly range: IndexRange };

export interface IndexRange {
  readonly atLeast?: number;
  readonly above?: number;
  readonly atMost?: number;
  readonly below?: number;
}
