/** Limits and order of one task queue (T1), the same on every dispatch. */
export interface QueuePolicy {
  /** At most `max` attempts begin within `perMs`. */
  readonly rateLimit: { readonly max: number; readonly perMs: number } | null;
  /** At most this many attempts run at a time. */
  readonly concurrency: number | null;
  /** Path into the input of a Step to a number: 1 is taken first; calls without one come before all others. */
  readonly priority: string | null;
  /** At most `limit` attempts run at a time that have the same value at the path `key` of their input. */
  readonly concurrencyByKey: { readonly key: string; readonly limit: number } | null;
}

export type QueuePolicies = ReadonlyMap<string, QueuePolicy>;
