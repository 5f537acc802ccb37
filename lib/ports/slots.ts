/** Where calls are counted that have a value of their input in common. */
export interface SlotKey {
  readonly taskQueue: string;
  readonly key: string;
}

/**
 * Slots that calls hold under a key of a task queue, counted over all engines (T1). All of it may be lost: whoever holds a
 * slot says so again and again.
 */
export interface Slots {
  /** Takes a slot for each of these in their order, as long as there are any; gives those that have one now. */
  take(of: SlotKey, limit: number, holders: readonly string[]): Promise<readonly string[]>;
  /** These hold slots, whatever the limit is. A holder that nobody keeps loses its slot after some 30 s. */
  keep(of: SlotKey, holders: readonly string[]): void;
  /** Rejects where it is not known whether the slot is free. */
  free(of: SlotKey, holder: string): Promise<void>;
}
