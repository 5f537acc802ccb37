/** Says who should own which shard: liveness. Who can write is up to the store's fence: safety. */
export interface Leases {
  /**
   * One round for an engine: tells the others that it lives, renews what it holds and takes free shards up to its fair
   * share. One that leaves only renews, and counts no more for the others' share; so does one that stepped back while there
   * are others. Gives what is true after it. Rejects with a transient error when nothing is known.
   */
  tend(engine: string, shards: number, leaseMs: number, part: LeasePart): Promise<LeasesView>;
  /** Gives shards up that the engine holds; what others hold stays. */
  release(engine: string, shards: readonly number[]): Promise<void>;
  /** The engine is leaving: it counts no more from here on. */
  leave(engine: string): Promise<void>;
  /** Calls back when another engine has let shards go, so that nobody has to wait for a round. Gives how to stop that. */
  onReleased(look: () => void): () => void;
}

/** What an engine does among the others. */
export type LeasePart = 'shares' | 'stepped back' | 'leaves';

export interface LeasesView {
  /** Shards whose lease the engine holds. */
  readonly held: readonly number[];
  /** How many of them it should let go because another engine has fewer. */
  readonly excess: number;
}

/** Whether an owner may write and tell: asked before each write and each output (P5). */
export interface Lease {
  isValid(): boolean;
}
