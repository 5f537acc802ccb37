import { randomUUID } from 'node:crypto';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord, encodeRecord } from '../values';
import type { WritePipeline } from './write-pipeline';

/** What is stored of the feeding of a shard. */
interface FeedRecord {
  /** Names all that was written since the shard was last written anew. */
  readonly feed: string;
  /** The last run that was written anew, `''` before the first; null when all were. */
  readonly rebuiltTo: string | null;
}

const runsPerPage = 200;

/**
 * The writing anew of a shard's part of the index, page by page over all its runs; the next owner goes on where this one
 * was. What has no record yet begins with it: an index that is new to the shard, or a shard that was without one.
 */
export class IndexRebuild {
  private record: FeedRecord;
  /** What was read and is not written yet: up to which run, null for the last page, and its number in the backlog. */
  private page: { readonly to: string | null; readonly number: number } | undefined;

  private constructor(
    private readonly store: ShardStore,
    private readonly pipeline: WritePipeline,
    stored: FeedRecord | undefined,
  ) {
    this.record = stored ?? { feed: randomUUID(), rebuiltTo: '' };
    // With the first change: an owner that finds none begins anew.
    if (!stored) pipeline.put(keys.index, encodeRecord(this.record));
  }

  static async load(store: ShardStore, pipeline: WritePipeline): Promise<IndexRebuild> {
    const stored = await store.get(keys.index);
    return new IndexRebuild(store, pipeline, stored && (decodeRecord(stored) as FeedRecord));
  }

  get feed(): string {
    return this.record.feed;
  }

  get isUnderWay(): boolean {
    return this.record.rebuiltTo !== null;
  }

  /** From the first run again, under the same name where the index knows nothing by it. */
  begin(feed = this.record.feed): void {
    this.page = undefined;
    this.save({ feed, rebuiltTo: '' });
  }

  /** Whether only what was not named is left to be removed. */
  isWritten(isTold: (number: number) => boolean): boolean {
    return this.isUnderWay && this.page?.to === null && isTold(this.page.number);
  }

  end(): void {
    this.page = undefined;
    this.save({ ...this.record, rebuiltTo: null });
  }

  /** The next runs, once the page before was told; undefined where it is not their turn. `read` notes them. */
  async next(isTold: (number: number) => boolean): Promise<string[] | undefined> {
    if (!this.isUnderWay || this.page?.to === null || (this.page && !isTold(this.page.number))) return undefined;
    const { feed, rebuiltTo } = this.record;
    const from = this.page?.to ?? rebuiltTo!;
    if (from !== rebuiltTo) this.save({ feed, rebuiltTo: from });
    const runIds: string[] = [];
    const range = { ...keys.runsAfter(from), limit: runsPerPage };
    for await (const [key] of this.store.scan(range)) runIds.push(keys.runIdOf(key));
    return runIds;
  }

  read(runIds: readonly string[], number: number): void {
    this.page = { to: runIds.length < runsPerPage ? null : runIds[runsPerPage - 1]!, number };
  }

  private save(record: FeedRecord): void {
    this.record = record;
    this.pipeline.put(keys.index, encodeRecord(record));
    this.pipeline.go();
  }
}

/** An engine without an index tells nobody what changes: the next one with an index writes it anew. */
export async function forgetIndex(store: ShardStore, pipeline: WritePipeline): Promise<void> {
  if (await store.get(keys.index)) pipeline.put(keys.index, undefined);
}
