import { type FlowConfig, timeoutStep } from '../plan';
import type { Failure } from '../values';
import { type AttributeRow, AttributeValues } from './attribute-values';
import type { ChildRow, ParentLink } from './child';
import { Children } from './children';
import { DueQueue } from './due-queue';
import type { CloseCheck, ClosedStatus, FailKind, FlowClosing } from './event';
import type { Execution, Kept } from './execution';
import { dueOf, issueOf } from './execution-times';
import { LockTable } from './lock-table';
import { MessageQueues, type MessageRow } from './message-queues';
import type { Names } from './names';
import type { OpenCall } from './open-call';
import type { Address, Payload } from './payload';
import { Snapshots } from './snapshots';
import { type Row, Table } from './table';

/** The scalars of a run; always in its head record. */
export interface RunHead {
  readonly flowId: string;
  readonly runId: string;
  /** The first run of the chain; the same over continue-as-new. */
  readonly chainId: string;
  /** Place in the chain, from 1. */
  readonly generation: number;
  readonly previousRunId: string | null;
  readonly nextRunId: string | null;
  readonly flow: string;
  /** Fingerprint of the plan that decided last (V2). */
  readonly plan: string;
  readonly status: 'running' | ClosedStatus;
  readonly failKind: FailKind | null;
  readonly failure: Failure | null;
  readonly config: FlowConfig;
  readonly startedAt: number;
  readonly closedAt: number | null;
  readonly deadlineAt: number | null;
  /** Number of the last event; numbers go on over continue-as-new. */
  readonly events: number;
  /** Number of the last event before this run. */
  readonly base: number;
  /** Number of the last event that was rolled away (N3). */
  readonly rolledTo: number;
  /** Last number given to a row, an issue or a message. */
  readonly seq: number;
  /** Executions scheduled so far per Step (S2). */
  readonly counters: Readonly<Record<string, number>>;
  /** A branch has asked for graceful completion (D2). */
  readonly completing: boolean;
  /** Decisions to complete if Channels are empty that are still to be tested, oldest first (D5). */
  readonly closeChecks: readonly CloseCheck[];
  /** How the run is to close once started RPCs have ended; null: it is not closing. */
  readonly closing: Closing | null;
  /** Of what was renamed in the code (V3); absent: nothing. */
  readonly names?: Names;
  /** Trace context that it was started with (K5). */
  readonly trace?: string;
  /** Chains that this one took the place of by time travel, the oldest first (K4). */
  readonly lines?: readonly string[];
  /** Flows whose SubFlow this run is. */
  readonly parents: readonly ParentLink[];
}

export type Closing = Omit<FlowClosing, 'kind'>;

export interface OutputRow extends Row {
  readonly execution: string;
  readonly value: Payload;
}

export interface BlobRow extends Row {
  readonly value: Payload;
}

export interface RunTables {
  readonly executions: Table<Execution>;
  readonly attributes: Table<AttributeRow>;
  readonly messages: Table<MessageRow>;
  readonly outputs: Table<OutputRow>;
  readonly blobs: Table<BlobRow>;
  readonly children: Table<ChildRow>;
}

export function emptyTables(): RunTables {
  return {
    executions: new Table(),
    attributes: new Table(),
    messages: new Table(),
    outputs: new Table(),
    blobs: new Table(),
    children: new Table(),
  };
}

/** Under which the deadline of the run stands among its due times; no execution has that name. */
export const deadlineKey = '\u0000deadline';

/** Payloads above this are kept apart from the row that names them. */
const keptInline = 1_024;

/**
 * One run: what is stored (head and tables) and what is derived from it (indexes). Rows change only through the methods
 * here, which keep the two in step; only `apply` calls the ones that write.
 */
export class RunState {
  readonly executions: Table<Execution>;
  readonly outputs: Table<OutputRow>;
  readonly attributes: AttributeValues;
  readonly messages: MessageQueues;
  readonly children: Children;
  private readonly blobs: Table<BlobRow>;

  /** Calls that a worker may take, in the order in which they became ready. */
  readonly ready = new Set<string>();
  readonly running = new Set<string>();
  readonly locked = new Set<string>();
  /** Calls whose back-off is over: a worker may take them, too. */
  readonly retrying = new Set<string>();
  locks = new LockTable();
  readonly due = new DueQueue();
  /** Newest heartbeat value received per token of a running attempt; lost with its owner (X3). */
  readonly heartbeats = new Map<string, Payload | null>();
  /** RPCs and Queries that are not answered yet; lost with their owner, and then asked again by their clients (R6). */
  calls = new Map<string, OpenCall>();
  /** The transactional call in whose window nothing else takes effect (R7). */
  window: string | null = null;
  /** Executions that wait on a Channel address, first come first. */
  readonly waiters = new Map<Address, Set<string>>();
  private readonly snapshots = new Snapshots();

  constructor(
    public head: RunHead,
    readonly tables: RunTables = emptyTables(),
  ) {
    this.executions = tables.executions;
    this.outputs = tables.outputs;
    this.blobs = tables.blobs;
    this.children = new Children(tables.children, (id) => this.executions.has(id));
    this.attributes = new AttributeValues(tables.attributes, this.snapshots);
    const byIssue = [...this.executions.values()].sort((a, b) => issueOf(a) - issueOf(b));
    const consumed = new Set(byIssue.flatMap(({ won }) => (won?.messages ?? []).flatMap(([, keys]) => keys)));
    this.messages = new MessageQueues(tables.messages, this.snapshots, consumed);
    for (const execution of byIssue) {
      if (execution.call?.snapshot != null) this.snapshots.keep(execution.call.snapshot);
      this.index(execution);
    }
    if (head.status === 'running' && head.deadlineAt !== null && !head.counters[timeoutStep]) this.watchDeadline();
  }

  get isOpen(): boolean {
    return this.head.status === 'running';
  }

  /** Open and not closing: it takes messages, calls and results. */
  get isTaking(): boolean {
    return this.isOpen && this.head.closing === null;
  }

  /** It closes when its started RPCs have ended; those end with their owner, so the next one has to look at it. */
  get isEnding(): boolean {
    const { closing, closeChecks, completing } = this.head;
    return this.isOpen && (closing !== null || closeChecks.length > 0 || (completing && this.executions.size === 0));
  }

  /** The next number for a row, an issue or a message. */
  nextSeq(): number {
    const seq = this.head.seq + 1;
    this.head = { ...this.head, seq };
    return seq;
  }

  setExecution(after: Execution): void {
    const before = this.executions.get(after.id);
    this.executions.set(after.id, after);
    // Kept first and let go last: a snapshot that lives on must not lose its versions in between.
    if (after.call?.snapshot != null) this.snapshots.keep(after.call.snapshot);
    // A wait that only changed keeps its place among those on its Channels.
    const goesOn = before?.wait != null && after.wait !== null && before.wait.issue === after.wait.issue;
    if (before) this.unindex(before, goesOn);
    this.index(after, goesOn);
    if (before?.call?.snapshot != null) this.releaseSnapshot(before.call.snapshot);
  }

  /** Sets when an execution that was looked at without effect is next due. */
  rearm(id: string, now: number): void {
    const execution = this.executions.get(id);
    if (execution) this.due.set(id, dueOf(execution, now));
  }

  /** Whether other flows still have to be told something, so that the run must be in memory. */
  get isOwing(): boolean {
    if (this.isOpen) return this.children.owing.size > 0;
    return this.head.nextRunId === null && this.head.parents.some(({ told }) => !told);
  }

  /** Has the run looked at when its deadline comes (F7). */
  watchDeadline(): void {
    this.due.set(deadlineKey, this.head.deadlineAt);
  }

  /** Ends an execution: its locks, messages, blobs and snapshot go with it. */
  dropExecution(id: string): void {
    const before = this.executions.get(id);
    if (!before) return;
    this.unindex(before);
    this.executions.delete(id);
    if (before.call?.snapshot != null) this.releaseSnapshot(before.call.snapshot);
    this.dropKept(before.input);
    this.dropKept(before.call?.heartbeat ?? null);
    for (const local of Object.values(before.locals)) this.dropKept(local);
    for (const condition of before.won?.conditions ?? before.wait?.conditions ?? []) {
      if (condition.kind === 'subFlow') this.children.dropIfDone(condition.key);
    }
    for (const [, keys] of before.won?.messages ?? [])
      for (const key of keys) this.messages.retire(key, before.won!.at);
  }

  addMessage(id: string, address: Address, value: Payload, at: number): void {
    this.messages.add({ seq: this.nextSeq(), id, address, value, at, born: this.head.events, consumedAt: null });
  }

  /** Unread messages per address as they were at a snapshot; cheap for the latest. */
  unreadAt(snapshot: number): Iterable<readonly [Address, ReadonlySet<string>]> {
    if (snapshot === this.head.events) return this.messages.allUnread();
    const consumedAt = new Map<string, number>();
    for (const { won } of this.executions.values()) {
      for (const [, keys] of won?.messages ?? []) for (const key of keys) consumedAt.set(key, won!.at);
    }
    return this.messages.unreadAt(snapshot, consumedAt);
  }

  addOutput(execution: string, value: Payload): void {
    const seq = this.nextSeq();
    this.outputs.set(`${seq}`, { seq, execution, value });
  }

  keep(value: Payload): Kept {
    if (value.length <= keptInline) return value;
    const seq = this.nextSeq();
    this.blobs.set(`${seq}`, { seq, value });
    return `${seq}`;
  }

  dropKept(kept: Kept | null): void {
    if (typeof kept === 'string') this.blobs.delete(kept);
  }

  payloadOf(kept: Kept): Payload {
    if (typeof kept !== 'string') return kept;
    return this.blobs.get(kept)!.value;
  }

  writeAttribute(address: Address, value: Payload | null): void {
    this.attributes.write(address, value, this.head.events, () => this.nextSeq());
  }

  private index(execution: Execution, goesOn = false): void {
    const { id, call, wait } = execution;
    this.due.set(id, dueOf(execution));
    if (call?.state === 'ready') this.ready.add(id);
    if (call?.state === 'running') this.running.add(id);
    if (call?.state === 'locked') {
      this.locked.add(id);
      this.locks.wait(id, call.locks);
    } else if (call && call.state !== 'delayed' && call.locks.length > 0) this.locks.hold(id, call.locks);
    if (!goesOn) this.queueWait(id, wait);
  }

  private queueWait(id: string, wait: Execution['wait']): void {
    for (const condition of wait?.conditions ?? []) {
      if (condition.kind !== 'channel') continue;
      const waiters = this.waiters.get(condition.address);
      if (waiters) waiters.add(id);
      else this.waiters.set(condition.address, new Set([id]));
    }
  }

  private unindex(execution: Execution, goesOn = false): void {
    const { id, call, wait } = execution;
    this.due.set(id, null);
    this.ready.delete(id);
    this.running.delete(id);
    this.retrying.delete(id);
    if (call?.token != null) this.heartbeats.delete(call.token);
    this.locked.delete(id);
    if (call && call.locks.length > 0) this.locks.leave(id);
    for (const condition of goesOn ? [] : (wait?.conditions ?? [])) {
      if (condition.kind !== 'channel') continue;
      const waiters = this.waiters.get(condition.address);
      waiters?.delete(id);
      if (waiters?.size === 0) this.waiters.delete(condition.address);
    }
  }

  private releaseSnapshot(snapshot: number): void {
    if (!this.snapshots.release(snapshot)) return;
    this.attributes.prune();
    this.messages.prune();
  }
}
