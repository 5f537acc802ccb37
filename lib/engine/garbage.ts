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

  /** Something will be due at that time. */
  expect(at: number): void {
    if (at >= this.nextAt) return;
    this.nextAt = at;
    this.cancelTimer?.();
    this.cancelTimer = this.clock.after(Math.max(0, at - this.time.now()), () => this.look());
  }

  close(): void {
    this.cancelTimer?.();
    this.nextAt = Number.NEGATIVE_INFINITY;
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
    const removed: string[] = [];
    for await (const [key, bytes] of this.store.scan(keys.garbageUntil(this.time.now()))) {
      const record = decodeRecord(bytes) as GarbageRecord;
      const rest = keysPerBatch - removed.length;
      const ranges =
        record.upTo === null
          ? [keys.historyOf(record.runId), keys.runRows(record.runId), keys.copiesOf(record.runId)]
          : [keys.historyUpTo(record.runId, record.upTo), keys.copiesBefore(record.runId, record.upTo)];
      const found: string[] = [];
      for (const range of ranges) {
        for await (const [each] of this.store.scan({ ...range, limit: rest - found.length + 1 })) found.push(each);
        if (found.length > rest) break;
      }
      removed.push(...found.slice(0, rest));
      if (found.length > rest) break;
      if (record.upTo === null) {
        // One that is loaded may be let go again before it is this one's turn; only an unreadable one never comes.
        for (let tries = 0; tries < 10 && !this.cells.get(record.flowId); tries++)
          await this.cells.load([record.flowId]);
        this.forget(record);
        this.hooks.removing(record.runId);
        removed.push(keys.run(record.runId));
      }
      removed.push(key);
      if (removed.length >= keysPerBatch) break;
    }
    for (const key of removed) this.pipeline.put(key, undefined);
    const batch = this.pipeline.gathering;
    this.pipeline.go();
    return removed.length >= keysPerBatch ? batch : undefined;
  }

  /** Lets go of the flowId with its last run, or, while ids of its requests are remembered, later (I1). */
  private forget({ flowId, runId }: GarbageRecord): void {
    const cell: Cell | undefined = this.cells.get(flowId);
    if (!cell) return;
    const again = cell.forgetRun(runId, this.time.now());
    this.pipeline.change(cell);
    if (again !== undefined) {
      this.pipeline.put(keys.garbage(again, runId, null), encodeRecord({ flowId, runId, upTo: null }));
    }
  }
}
