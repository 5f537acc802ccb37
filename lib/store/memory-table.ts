import type { Entry, KeyRange, WriteBatch } from '../ports';
import { compareKeys } from './shard-session';

/** Below this many new keys it is cheaper to insert each in its place than to merge all. */
const FEW_KEYS = 32;

/** An ordered map of keys to bytes. Keys are sorted when a scan asks, not while they are written. */
export class MemoryTable {
  /** A key with the value undefined was deleted and still waits in `sorted` or `unsorted`. */
  private readonly values = new Map<string, Uint8Array | undefined>();
  private sorted: string[] = [];
  private unsorted: string[] = [];
  private deleted = 0;

  get(key: string): Uint8Array | undefined {
    return this.values.get(key);
  }

  apply(batch: WriteBatch): void {
    for (const [key, value] of batch) {
      const known = this.values.has(key);
      if (value === undefined && !known) continue;
      const before = this.values.get(key);
      if (known && before === undefined && value !== undefined) this.deleted--;
      if (before !== undefined && value === undefined) this.deleted++;
      if (!known) this.unsorted.push(key);
      this.values.set(key, value);
    }
  }

  /** The entries of a range as they are now. */
  entries(range: KeyRange): Entry[] {
    this.sort();
    const found: Entry[] = [];
    for (let i = this.indexOf(range.from); i < this.sorted.length; i++) {
      const key = this.sorted[i]!;
      if (compareKeys(key, range.to) >= 0) break;
      const value = this.values.get(key);
      if (value === undefined) continue;
      if (found.push([key, value]) === range.limit) break;
    }
    return found;
  }

  private sort(): void {
    if (this.deleted > FEW_KEYS && this.deleted * 2 > this.values.size) this.forgetDeleted();
    if (this.unsorted.length <= FEW_KEYS) {
      for (const key of this.unsorted) this.sorted.splice(this.indexOf(key), 0, key);
    } else {
      this.sorted = this.sorted.concat(this.unsorted).sort(compareKeys);
    }
    this.unsorted = [];
  }

  private forgetDeleted(): void {
    for (const [key, value] of this.values) if (value === undefined) this.values.delete(key);
    this.sorted = this.sorted.filter((key) => this.values.has(key));
    this.unsorted = this.unsorted.filter((key) => this.values.has(key));
    this.deleted = 0;
  }

  /** The index of the first sorted key that is not below `key`. */
  private indexOf(key: string): number {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.sorted[middle]!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
