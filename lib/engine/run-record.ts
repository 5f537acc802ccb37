import { type Event, emptyTables, type RunHead, RunState, type RunTables } from '../core';
import type { ShardStore, WriteBatch } from '../ports';
import { Document } from '../store/document';
import { keys } from '../store/keys';
import { encodeRecord } from '../values';

type Batch = Map<string, Uint8Array | undefined> & WriteBatch;

/** A run's head as it is stored: with the key of its wake, which is not to be found out from the rest. */
type StoredHead = RunHead & { readonly wake: string | null };

/** History records hold at most this much, or one event. */
const chunkBytes = 1024 * 1024;

/** One run with the records it is stored in. */
export class RunRecord {
  private unsaved: Event[] = [];
  private savedWake: string | undefined;
  /** Of events saved by this owner since the last roll. */
  private historyBytes = 0;
  private isStored = false;

  constructor(
    readonly run: RunState,
    private readonly document = documentOf(run.head.runId, run.tables),
  ) {}

  /** A stored run, open or closed; undefined where there is none. */
  static async load(store: ShardStore, runId: string): Promise<RunRecord | undefined> {
    const tables = emptyTables();
    const document = documentOf(runId, tables);
    const stored = await document.load(store);
    if (!stored) return undefined;
    const { wake, ...head } = stored;
    const record = new RunRecord(new RunState(head, tables), document);
    record.savedWake = wake ?? undefined;
    record.isStored = true;
    return record;
  }

  addEvent(event: Event): void {
    this.unsaved.push(event);
    if (event.kind === 'HistoryRolled') this.historyBytes = 0;
  }

  get isDirty(): boolean {
    return this.unsaved.length > 0;
  }

  /** Events since the last save. */
  get changes(): readonly Event[] {
    return this.unsaved;
  }

  /** It was never saved. */
  get isNew(): boolean {
    return !this.isStored;
  }

  /** When the run needs a look: 0 if it must be in memory all the time, undefined for never by itself. */
  wakeAt(): number | undefined {
    const { run } = this;
    // In a transactional window things are put off that the next owner has to look at (R7).
    if (run.isOwing || run.window !== null) return 0;
    if (!run.isOpen) return undefined;
    if (run.ready.size > 0 || run.running.size > 0 || run.retrying.size > 0 || run.isEnding) return 0;
    return run.due.next() ?? undefined;
  }

  get wantsRoll(): boolean {
    const { isOpen, head } = this.run;
    const { historyLimitEvents, historyLimitBytes } = head.config;
    return isOpen && (head.events - head.rolledTo >= historyLimitEvents || this.historyBytes >= historyLimitBytes);
  }

  save(batch: Batch): void {
    if (!this.isDirty) return;
    this.isStored = true;
    this.saveGarbage(batch);
    this.saveHistory(batch);
    const wake = this.wakeKey();
    this.document.save({ ...this.run.head, wake: wake ?? null }, batch);
    if (wake === this.savedWake) return;
    if (this.savedWake !== undefined) batch.set(this.savedWake, undefined);
    if (wake !== undefined) batch.set(wake, encodeRecord(this.run.head.flowId));
    this.savedWake = wake;
  }

  private wakeKey(): string | undefined {
    const at = this.wakeAt();
    return at === undefined ? undefined : keys.wake(at, this.run.head.runId);
  }

  /** Notes what can be removed once the retention is over. */
  private saveGarbage(batch: Batch): void {
    const { flowId, runId, events, config } = this.run.head;
    const first = events - this.unsaved.length + 1;
    for (const [i, { kind, at }] of this.unsaved.entries()) {
      if (kind !== 'FlowClosed' && kind !== 'HistoryRolled') continue;
      // A roll lets go of what was before it; itself it begins the rest.
      const upTo = kind === 'FlowClosed' ? null : first + i - 1;
      batch.set(keys.garbage(at + config.retentionMs, runId, upTo), encodeRecord({ flowId, runId, upTo }));
    }
  }

  private saveHistory(batch: Batch): void {
    const { runId, events } = this.run.head;
    const chunk = (first: number, part: readonly Event[]) => {
      const bytes = encodeRecord(part);
      if (bytes.length > chunkBytes && part.length > 1) {
        const half = part.length >> 1;
        chunk(first, part.slice(0, half));
        chunk(first + half, part.slice(half));
        return;
      }
      this.historyBytes += bytes.length;
      batch.set(keys.history(runId, first), bytes);
    };
    // A roll begins a chunk, so that what was before it can be removed without it.
    const starts = this.unsaved.flatMap(({ kind }, i) => (i === 0 || kind === 'HistoryRolled' ? [i] : []));
    const first = events - this.unsaved.length + 1;
    for (const [n, start] of starts.entries()) chunk(first + start, this.unsaved.slice(start, starts[n + 1]));
    this.unsaved = [];
  }
}

function documentOf(runId: string, tables: RunTables): Document<StoredHead> {
  return new Document(
    { head: keys.run(runId), row: (table, key) => keys.runRow(runId, table, key), rows: keys.runRows(runId) },
    { ...tables },
  );
}
