import type { Event } from '../core';
import type { Cancel, Clock, ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord, encodeRecord } from '../values';
import type { Cell } from './cell';
import type { Cells } from './cells';
import type { ShardClock } from './shard-clock';
import type { WritePipeline } from './write-pipeline';

/** What is to be removed: a closed run, or the part of a history up to an event (N3, N5). */
export interface GarbageRecord {
  readonly flowId: string;
  readonly runId: string;
  /** null: the run as a whole. */
  readonly upTo: number | null;
}

/** How often the store is asked for garbage that is due. */
const lookMs = 30_000;
/** A run that still has to tell somebody something is looked at again after this time. */
const owingMs = 60_000;
/** Keys removed in one batch. */
const keysPerBatch = 2_000;

/** Removes closed runs and rolled history when their retention is over. */
export class Garbage {
  private cancelTimer: Cancel | undefined;
  private nextAt = Number.POSITIVE_INFINITY;
  private collecting = false;

  constructor(
    private readonly store: ShardStore,
    private readonly clock: Clock,
    private readonly time: ShardClock,
    private readonly cells: Cells,
    private readonly pipeline: WritePipeline,
    private readonly hooks: { removing(runId: string): void; failed(error: unknown): void },
  ) {}

  /** Looks for what events leave behind. */
  note(events: readonly Event[], retentionMs: number): void {
    for (const { kind, at } of events)
      if (kind === 'FlowClosed' || kind === 'HistoryRolled') this.expect(at + retentionMs);
  }

  /** Something will be due at that time. */
  expect(at: number): void {
    if (at >= this.nextAt) return;
    this.nextAt = at;
    this.cancelTimer?.();
    this.cancelTimer = this.clock.after(Math.max(0, at - this.time.now()), () => this.look());
  }

  private look(): void {
    this.nextAt = Number.POSITIVE_INFINITY;
    if (this.collecting) return this.expect(this.time.now() + lookMs);
    this.collecting = true;
    this.collect()
      .then(
        (more) => {
          if (more === undefined) this.expect(this.time.now() + lookMs);
          // Until then the same would be found again.
          else this.pipeline.whenDurable(more, () => this.expect(this.time.now()));
        },
        (error) => this.hooks.failed(error),
      )
      .finally(() => {
        this.collecting = false;
      });
  }

  /** If there was more than one batch may hold, gives the write that removes its part. */
  private async collect(): Promise<number | undefined> {
    let room = keysPerBatch;
    for await (const [key, bytes] of this.store.scan(keys.garbageUntil(this.time.now()))) {
      const record = decodeRecord(bytes) as GarbageRecord;
      if (record.upTo === null) {
        // One that is loaded may be let go again before it is this one's turn; only an unreadable one never comes.
        for (let tries = 0; tries < 10 && !this.cells.get(record.flowId); tries++)
          await this.cells.load([record.flowId]);
        if (!this.forget(key, record)) continue;
        this.hooks.removing(record.runId);
      }
      const found = await this.keysOf(record, room + 1);
      for (const each of found.slice(0, room)) this.pipeline.put(each, undefined);
      // The record stays for as long as there is more.
      if (found.length <= room) this.pipeline.put(key, undefined);
      room -= found.length + 1;
      if (room <= 0) break;
    }
    const batch = this.pipeline.gathering;
    this.pipeline.go();
    return room <= 0 ? batch : undefined;
  }

  private async keysOf({ runId, upTo }: GarbageRecord, limit: number): Promise<string[]> {
    const ranges =
      upTo === null
        ? [keys.historyOf(runId), keys.runRows(runId), keys.copiesOf(runId)]
        : [keys.historyUpTo(runId, upTo), keys.copiesBefore(runId, upTo)];
    const found: string[] = [];
    for (const range of ranges) {
      if (found.length === limit) break;
      for await (const [key] of this.store.scan({ ...range, limit: limit - found.length })) found.push(key);
    }
    return found;
  }

  /**
   * Lets go of a closed run before its rows are removed, so that nothing is added to it any more; and of its flowId with the
   * last run, or, while ids of its requests are remembered, later (I1). False for one that must be kept for a while.
   */
  private forget(key: string, { flowId, runId }: GarbageRecord): boolean {
    const cell: Cell | undefined = this.cells.get(flowId);
    // It cannot be read: a later look finds it again.
    if (!cell) return false;
    const now = this.time.now();
    const later = (at: number) =>
      this.pipeline.put(keys.garbage(at, runId, null), encodeRecord({ flowId, runId, upTo: null }));
    if (cell.isOwing(runId) || cell.isAsked(runId)) {
      this.pipeline.put(key, undefined);
      later(now + owingMs);
      return false;
    }
    const again = cell.forgetRun(runId, now);
    this.pipeline.change(cell);
    this.pipeline.put(keys.run(runId), undefined);
    if (again !== undefined) later(again);
    return true;
  }
}
