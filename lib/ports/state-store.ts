/**
 * Where the state of a namespace is kept: an ordered map of keys to bytes per shard, with one writer a shard.
 * Keys are strings, stored as UTF-8 and ordered by their bytes. Every adapter passes `test/support/store-conformance`.
 */
export interface StateStore {
  /** Names the adapter and place for messages, without secrets, e.g. `file:/data/orders`. */
  readonly location: string;
  /**
   * Opens a shard for writing and fences every earlier writer of it (P5): from here on their writes fail with `FENCED`
   * and are never seen. Throws `STORE_IN_USE` where another living process holds an embedded store, `STORE_UNAVAILABLE`.
   */
  open(shard: number): Promise<ShardStore>;
  /** Closes what is shared between shards. Idempotent; open shards must be closed first. */
  close(): Promise<void>;
}

export interface ShardStore {
  /** Grows by at least one with every open of the shard, over processes. */
  readonly epoch: number;
  /**
   * Applies all operations or none, in order of the calls. Resolves when the write is durable as the adapter states (P8).
   * After it rejected with `STORE_UNAVAILABLE` the outcome is unknown and the shard must be reopened.
   */
  write(batch: WriteBatch): Promise<void>;
  /** The value last written with success by any owner, or undefined. */
  get(key: string): Promise<Uint8Array | undefined>;
  /** Entries with `from <= key < to`, in byte order of the keys, of one moment; stops after `limit`. */
  scan(range: KeyRange): AsyncIterable<Entry>;
  /** What was written since open; for benchmarks and limits. */
  readonly stats: StoreStats;
  close(): Promise<void>;
}

export interface KeyRange {
  readonly from: string;
  /** First key after the range. */
  readonly to: string;
  readonly limit?: number;
}

export type Entry = readonly [key: string, value: Uint8Array];

/** undefined deletes the key. The last value given for a key counts. */
export type WriteBatch = ReadonlyMap<string, Uint8Array | undefined>;

export interface StoreStats {
  readonly writes: number;
  readonly records: number;
  readonly bytes: number;
}

/** All keys that start with `prefix`, which must end with an ASCII character below DEL. */
export function prefixRange(prefix: string): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1);
  return { from: prefix, to: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}
