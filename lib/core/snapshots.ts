/** The moments, as event numbers, whose state calls still see (S6), with how many calls see each. */
export class Snapshots {
  private readonly counts = new Map<number, number>();

  keep(snapshot: number): void {
    this.counts.set(snapshot, (this.counts.get(snapshot) ?? 0) + 1);
  }

  /** True if nobody sees that moment any more. */
  release(snapshot: number): boolean {
    const count = this.counts.get(snapshot)! - 1;
    if (count > 0) this.counts.set(snapshot, count);
    else this.counts.delete(snapshot);
    return count === 0;
  }

  /** Whether somebody sees a moment from `from` on and before `to`. */
  seesWithin(from: number, to: number): boolean {
    for (const snapshot of this.counts.keys()) if (snapshot >= from && snapshot < to) return true;
    return false;
  }
}
