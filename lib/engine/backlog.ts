import type { KeyRange, ShardStore } from '../ports';
import { encodeRecord } from '../values';

/** Where a backlog keeps its marks. */
export interface MarkKeys {
  mark(runId: string): string;
  readonly marks: KeyRange;
}

interface Waiting<T> {
  readonly value: T;
  /** When it first had something that is not told yet. */
  readonly since: number;
  readonly number: number;
  readonly isMarked: boolean;
}

/** Up to this many marks are struck off with other writes only. */
const mostStruck = 1_000;

/**
 * Runs of which something has changed that is to be told outside: their latest values, in the order in which they first
 * changed. A change leaves a mark in the same write as itself, and the mark goes with a later write when the run was told:
 * what was not told yet is found again by the next owner, and marks alone make no write.
 */
export class Backlog<T> {
  /** Of changes whose write is under way. */
  private flying: (readonly [runId: string, value: T])[] = [];
  private readonly saved = new Map<string, Waiting<T>>();
  private readonly struck = new Set<string>();
  private count = 0;
  /** Marks of runs that are not in memory may stand behind this one; null: there are none. */
  private unread: { after: string | null; readonly since: number } | null;
  private spilledAt: number | null = null;

  constructor(
    private readonly keys: MarkKeys,
    private readonly now: () => number,
    /** In memory there is room for this many runs; the marks of the others are read when it is their turn. */
    private readonly room = 10_000,
  ) {
    this.unread = { after: null, since: now() };
  }

  /** A run changes in the write that this batch goes into. */
  change(runId: string, value: T, batch: Map<string, Uint8Array | undefined>): void {
    this.struck.delete(runId);
    batch.set(this.keys.mark(runId), encodeRecord(null));
    this.flying.push([runId, value]);
  }

  /** Takes the marks away of what was told; before the changes that go into the same batch. */
  strike(batch: Map<string, Uint8Array | undefined>): void {
    for (const runId of this.struck) batch.set(this.keys.mark(runId), undefined);
    this.struck.clear();
  }

  /** The write of the last changes is durable: they may be told. */
  land(): void {
    for (const [runId, value] of this.flying.splice(0)) this.add(runId, value, true);
  }

  /** A run was read from the store to be told; for `marked` ones because of their marks. Newer states come before it. */
  admit(runId: string, value: T, isMarked: boolean): void {
    if (!this.knows(runId)) this.add(runId, value, isMarked);
  }

  /** The oldest that may be told. */
  take(limit: number): (readonly [runId: string, value: T])[] {
    const taken: (readonly [string, T])[] = [];
    for (const [runId, { value }] of this.saved) {
      if (taken.length === limit) break;
      taken.push([runId, value]);
    }
    return taken;
  }

  /** They were told; what has changed again meanwhile stays. */
  told(runs: readonly (readonly [runId: string, value: T])[]): void {
    for (const [runId, value] of runs) {
      const waiting = this.saved.get(runId);
      if (waiting?.value !== value) continue;
      this.saved.delete(runId);
      if (waiting.isMarked && !this.knows(runId)) this.struck.add(runId);
    }
  }

  /** Whether striking off should not wait for another write. */
  get wantsStrike(): boolean {
    return this.struck.size >= mostStruck;
  }

  get hasRoom(): boolean {
    return this.saved.size < this.room / 2;
  }

  /** Whether there are marks to read. */
  get isUnread(): boolean {
    return this.unread !== null;
  }

  /** Runs of the next marks that are not in memory. */
  async readMarks(store: ShardStore, limit: number): Promise<string[]> {
    const { marks } = this.keys;
    const { unread } = this;
    if (!unread) return [];
    if (unread.after === null) this.spilledAt = null;
    const from = unread.after === null ? marks.from : `${this.keys.mark(unread.after)}\u0000`;
    const found: string[] = [];
    for await (const [key] of store.scan({ ...marks, from, limit })) found.push(key.slice(marks.from.length));
    if (found.length === limit) unread.after = found[limit - 1]!;
    else this.unread = this.spilledAt === null ? null : { after: null, since: this.spilledAt };
    return found.filter((runId) => !this.knows(runId) && !this.struck.has(runId));
  }

  /** Some of what was read may not have been admitted. */
  readAgain(): void {
    this.unread = { after: null, since: this.unread?.since ?? this.now() };
  }

  /** The number of the last change that may be told; see `isTold`. */
  get last(): number {
    return this.count;
  }

  /** Whether all changes up to that number were told, or are found by their marks. */
  isTold(number: number): boolean {
    const [oldest] = this.saved.values();
    return !oldest || oldest.number > number;
  }

  get size(): number {
    return this.saved.size;
  }

  /** Since when the oldest waits; null: nothing does. */
  get since(): number | null {
    const [oldest] = this.saved.values();
    const times = [oldest?.since, this.unread?.since, this.spilledAt].filter((at) => at != null);
    return times.length === 0 ? null : Math.min(...times);
  }

  private knows(runId: string): boolean {
    return this.saved.has(runId) || this.flying.some(([flying]) => flying === runId);
  }

  private add(runId: string, value: T, isMarked: boolean): void {
    const before = this.saved.get(runId);
    if (!before && this.saved.size >= this.room) {
      this.spilledAt ??= this.now();
      this.unread ??= { after: null, since: this.spilledAt };
      return;
    }
    const { since, number } = before ?? { since: this.now(), number: ++this.count };
    this.saved.set(runId, { value, since, number, isMarked: isMarked || (before?.isMarked ?? false) });
  }
}
