import { type Event, emptyTables, type RunHead, RunState, type RunTables } from '../core';
import type { ShardStore, WriteBatch } from '../ports';
import { Document } from '../store/document';
import { keys } from '../store/keys';
import { encodeRecord } from '../values';
import { StateCopies } from './state-copies';

type Batch = Map<string, Uint8Array | undefined> & WriteBatch;

/** A run's head as it is stored: with the key of its wake and the place of its last copy, which the rest does not tell. */
type StoredHead = RunHead & { readonly wake: string | null; readonly copiedAt?: number };

/** History records hold at most this much, or one event. */
const chunkBytes = 1024 * 1024;

/** One run with the records it is stored in. */
export class RunRecord {
  private unsaved: Event[] = [];
  private savedWake: string | undefined;
  /** Of events saved by this owner since the last roll. */
  private historyBytes = 0;
  private isStored = false;
  private readonly copies: StateCopies;

  constructor(
    readonly run: RunState,
    private readonly document = documentOf(run.head.runId, run.tables),
    copiedAt = run.head.base,
  ) {
    this.copies = new StateCopies(run, copiedAt);
  }

  /** A stored run, open or closed; undefined where there is none. */
  static async load(store: ShardStore, runId: string): Promise<RunRecord | undefined> {
    const tables = emptyTables();
    const document = documentOf(runId, tables);
    const stored = await document.load(store);
    if (!stored) return undefined;
    const { wake, copiedAt, ...head } = stored;
    const record = new RunRecord(new RunState(head, tables), document, copiedAt);
    record.savedWake = wake ?? undefined;
    record.isStored = true;
    return record;
  }

  /** Of a stored run, the head alone. */
  static async loadHead(store: ShardStore, runId: string): Promise<RunHead | undefined> {
    return documentOf(runId, emptyTables()).loadHead(store);
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
    // What an open RPC has locked is free for the next owner, who must give it to those that wait for it (L6).
    if (run.locked.size > 0 && [...run.calls.values()].some(({ locks }) => locks.length > 0)) return 0;
    if (run.ready.size > 0 || run.running.size > 0 || run.retrying.size > 0 || run.isEnding) return 0;
    return run.due.next() ?? undefined;
  }

  get wantsRoll(): boolean {
    const { isOpen, head } = this.run;
    const { historyLimitEvents, historyLimitBytes } = head.config;
    return isOpen && (head.events - head.rolledTo >= historyLimitEvents || this.historyBytes >= historyLimitBytes);
  }

  /** The run goes on from the state of another, whose history may be gone before its own. */
  copyBeginning(at: number): void {
    this.copies.copyBeginning(at);
  }

  save(batch: Batch): void {
    if (!this.isDirty) return;
    this.isStored = true;
    const events = this.unsaved;
    const bytes = this.saveHistory(batch);
    const wake = this.wakeKey();
    // What a copy holds must be saved before: its rows are counted then.
    this.document.saveRows(batch);
    this.copies.save(batch, events, bytes, this.document.rowBytes);
    this.saveGarbage(batch, events);
    this.document.saveHead({ ...this.run.head, wake: wake ?? null, copiedAt: this.copies.copiedAt }, batch);
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
  private saveGarbage(batch: Batch, events: readonly Event[]): void {
    const { flowId, runId, events: last, config, base } = this.run.head;
    const { copiedAt } = this.copies;
    const first = last - events.length + 1;
    for (const [i, { kind, at }] of events.entries()) {
      if (kind !== 'FlowClosed' && kind !== 'HistoryRolled') continue;
      // A roll lets go of what was before it, as far as a copy of the state was made since; itself it begins the rest.
      const upTo = kind === 'FlowClosed' ? null : Math.min(first + i - 1, copiedAt);
      if (upTo !== null && upTo <= base) continue;
      batch.set(keys.garbage(at + config.retentionMs, runId, upTo), encodeRecord({ flowId, runId, upTo }));
    }
  }

  /** Gives the bytes of history it has put into the batch. */
  private saveHistory(batch: Batch): number {
    const { runId, events } = this.run.head;
    let written = 0;
    const chunk = (first: number, part: readonly Event[]) => {
      const bytes = encodeRecord(part);
      if (bytes.length > chunkBytes && part.length > 1) {
        const half = part.length >> 1;
        chunk(first, part.slice(0, half));
        chunk(first + half, part.slice(half));
        return;
      }
      written += bytes.length;
      batch.set(keys.history(runId, first), bytes);
    };
    // A roll begins a chunk, so that what was before it can be removed without it.
    const starts = this.unsaved.flatMap(({ kind }, i) => (i === 0 || kind === 'HistoryRolled' ? [i] : []));
    const first = events - this.unsaved.length + 1;
    for (const [n, start] of starts.entries()) chunk(first + start, this.unsaved.slice(start, starts[n + 1]));
    this.unsaved = [];
    this.historyBytes += written;
    return written;
  }
}

function documentOf(runId: string, tables: RunTables): Document<StoredHead> {
  return new Document(
    { head: keys.run(runId), row: (table, key) => keys.runRow(runId, table, key), rows: keys.runRows(runId) },
    { ...tables },
  );
}
