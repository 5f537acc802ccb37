import type { Origin } from '../ports';

/** The highest epoch a process has heard of per shard: what an earlier owner still says is not listened to (P5). */
export class Epochs {
  private readonly seen = new Map<number, number>();

  /** False for an owner that has been replaced. */
  accept({ shard, epoch }: Origin): boolean {
    const highest = this.seen.get(shard) ?? 0;
    if (epoch < highest) return false;
    if (epoch > highest) this.seen.set(shard, epoch);
    return true;
  }
}
