/** Source of ids, so that tests and the simulator can repeat them. */
export interface Ids {
  /** A new UUID version 7: sorted by time of making. */
  next(): string;
}
