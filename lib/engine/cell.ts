import { type Event, type FlowHead, FlowState, limits, type ResultCommand } from '../core';
import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import { Document } from '../store/document';
import { keys } from '../store/keys';
import { encodeRecord } from '../values';
import { RunRecord } from './run-record';

/** One flowId in its owner's memory: its state, and the records it is stored in. */
export class Cell {
  /** Number of the write that holds the latest change, and of the one that holds the latest result of a SYNC call. */
  changedIn = 0;
  syncResultIn = 0;
  /** See `Cells.evict`. */
  used = true;
  private readonly document: Document<FlowHead>;
  private savedHead: FlowHead | undefined;
  private savedOwing = false;
  private savedFiring: string | undefined;
  private savedSchedule = false;
  private current: RunRecord | undefined;
  /** Told of events by who reads the history meanwhile; keeps the flow in memory. */
  readonly taps = new Set<(event: Event) => void>();
  /** Runs that a new one replaced in this very write. */
  private replaced: RunRecord[] = [];

  private constructor(readonly flow: FlowState) {
    const { flowId } = flow.head;
    this.document = new Document(
      { head: keys.flow(flowId), row: (table, key) => keys.flowRow(flowId, table, key), rows: keys.flowRows(flowId) },
      {
        ...{ ids: flow.ids, obligations: flow.obligations, outcomes: flow.outcomes },
        ...{ actions: flow.actions, firings: flow.firings },
      },
    );
  }

  /** Throws `CORRUPT_RECORD` if what is stored cannot be read. */
  static async load(store: ShardStore, flowId: string): Promise<Cell> {
    const cell = new Cell(FlowState.empty(flowId));
    const head = await cell.document.load(store);
    if (!head) return cell;
    cell.flow.head = head;
    cell.savedHead = head;
    cell.savedOwing = cell.flow.isOwing;
    cell.savedFiring = cell.firingKey();
    cell.savedSchedule = head.schedule !== undefined;
    if (head.runId === null) return cell;
    cell.current = await RunRecord.load(store, head.runId);
    if (!cell.current) {
      throw new HoldfastError('CORRUPT_RECORD', `The latest run ${head.runId} of ${flowId} has no record.`, {
        where: flowId,
      });
    }
    cell.flow.run = cell.current.run;
    return cell;
  }

  addEvents(events: readonly Event[]): void {
    for (const event of events) {
      if (event.kind === 'FlowStarted' || event.kind === 'RunContinued' || event.kind === 'TimeTravelled') {
        if (this.current?.isDirty) this.replaced.push(this.current);
        this.current = new RunRecord(this.flow.run!);
        if (event.kind !== 'FlowStarted') this.current.copyBeginning(event.at);
      }
      for (const tap of this.taps) tap(event);
      this.current!.addEvent(event);
    }
  }

  /** Runs that have changed since the last save. */
  get changed(): readonly RunRecord[] {
    return [...this.replaced, ...(this.current?.isDirty ? [this.current] : [])];
  }

  /** Whether it is the result of the current attempt of a SYNC call: what follows from it waits for its write (P3). */
  isSyncResult({ execution, token }: ResultCommand): boolean {
    const call = this.flow.run?.executions.get(execution)?.call;
    return call?.token === token && call.durability === 'SYNC';
  }

  /** Whether the history has reached its limit (N3). */
  get wantsRoll(): boolean {
    return this.current?.wantsRoll ?? false;
  }

  /** Whether that run is the latest and is still needed: a closed child until its parents have saved its outcome (U5). */
  isOwing(runId: string): boolean {
    const { flow } = this;
    return flow.head.runId === runId && (flow.isOwing || (flow.run?.isOwing ?? false));
  }

  /**
   * Lets go of a closed run whose retention is over, and of the flowId if nothing else of it is kept. Gives the time to try
   * again while ids of requests are still remembered.
   */
  forgetRun(runId: string, now: number): number | undefined {
    const { flow } = this;
    if (flow.head.runId !== null && flow.head.runId !== runId) return undefined;
    if (flow.run?.isOpen) return undefined;
    flow.run = undefined;
    flow.head = { ...flow.head, runId: null };
    this.current = undefined;
    return flow.forgetIds(now);
  }

  /** Whether Queries of the run are being answered. */
  isAsked(runId: string): boolean {
    const { run } = this.flow;
    return run?.head.runId === runId && run.calls.size > 0;
  }

  /** See `RunRecord.wakeAt`; what closed runs owe their children also keeps it in memory. */
  wakeAt(): number | undefined {
    if (this.flow.isOwing) return 0;
    return this.flow.head.schedule ? (this.flow.nextDueAt ?? undefined) : this.current?.wakeAt();
  }

  private saveObligationWake(batch: Map<string, Uint8Array | undefined>): void {
    const owes = this.flow.isOwing;
    if (owes === this.savedOwing) return;
    const { flowId } = this.flow.head;
    batch.set(keys.wake(0, `~${flowId}`), owes ? encodeRecord(flowId) : undefined);
    this.savedOwing = owes;
  }

  private saveFiringWake(batch: Map<string, Uint8Array | undefined>): void {
    const key = this.firingKey();
    if (key === this.savedFiring) return;
    if (this.savedFiring !== undefined) batch.set(this.savedFiring, undefined);
    if (key !== undefined) batch.set(key, encodeRecord(this.flow.head.flowId));
    this.savedFiring = key;
  }

  /** Of a schedule that was deleted nothing is kept but the ids of its requests, and those until they need not be known. */
  private saveScheduleGarbage(batch: Map<string, Uint8Array | undefined>): void {
    const has = this.flow.head.schedule !== undefined;
    if (this.savedSchedule && !has) {
      const { flowId } = this.flow.head;
      const runId = `~${flowId}`;
      const at = Math.max(0, ...[...this.flow.ids.values()].map((row) => row.at)) + limits.rememberedMs;
      batch.set(keys.garbage(at, runId, null), encodeRecord({ flowId, runId, upTo: null }));
    }
    this.savedSchedule = has;
  }

  /** Where the next time of a schedule stands among the wakes. */
  private firingKey(): string | undefined {
    const { flowId, schedule } = this.flow.head;
    const at = schedule ? this.flow.nextDueAt : null;
    return at === null ? undefined : keys.wake(at, `~${flowId}`);
  }

  /** Puts everything that changed since the last save into a batch. */
  save(batch: Map<string, Uint8Array | undefined>): void {
    this.saveObligationWake(batch);
    this.saveFiringWake(batch);
    this.saveScheduleGarbage(batch);
    if (this.flow.head !== this.savedHead || this.flow.isDirty) {
      if (this.flow.isEmpty) this.document.remove(batch);
      else this.document.save(this.flow.head, batch);
      this.savedHead = this.flow.head;
    }
    for (const record of this.replaced) record.save(batch);
    this.replaced = [];
    this.current?.save(batch);
  }
}
