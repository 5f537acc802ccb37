import type { FlowConfig } from '../plan';
import type { Failure } from '../values';
import { DueQueue } from './due-queue';
import type { ClosedStatus, FailKind } from './event';
import type { Execution, Kept } from './execution';
import { limits } from './limits';
import { LockTable } from './lock-table';
import { type Address, nameOf, type Payload } from './payload';
import { type Row, Table } from './table';

/** The scalars of a run; always in its head record. */
export interface RunHead {
  readonly flowId: string;
  readonly runId: string;
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
  /** Number of events so far; the number of the last one. */
  readonly events: number;
  /** Last number given to a row, an issue or a message. */
  readonly seq: number;
  /** Executions scheduled so far per Step (S2). */
  readonly counters: Readonly<Record<string, number>>;
  /** A branch has asked for graceful completion (D2). */
  readonly completing: boolean;
}

export interface AttributeRow extends Row {
  /** Oldest first. A version is the number of the event that wrote it; null: deleted. Old ones stay while a call sees them. */
  readonly versions: readonly (readonly [version: number, value: Payload | null])[];
}

export interface MessageRow extends Row {
  readonly id: string;
  readonly address: Address;
  readonly value: Payload;
  readonly at: number;
}

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
}

export function emptyTables(): RunTables {
  return {
    executions: new Table(),
    attributes: new Table(),
    messages: new Table(),
    outputs: new Table(),
    blobs: new Table(),
  };
}

/** Payloads above this are kept apart from the row that names them. */
const keptInline = 1_024;

/**
 * One run: what is stored (head and tables) and what is derived from it (indexes). Rows change only through the methods
 * here, which keep the two in step; only `apply` calls the ones that write.
 */
export class RunState {
  readonly executions: Table<Execution>;
  readonly attributes: Table<AttributeRow>;
  readonly messages: Table<MessageRow>;
  readonly outputs: Table<OutputRow>;
  readonly blobs: Table<BlobRow>;

  /** Calls that a worker may take, in the order in which they became ready. */
  readonly ready = new Set<string>();
  readonly running = new Set<string>();
  readonly locked = new Set<string>();
  readonly locks = new LockTable();
  readonly due = new DueQueue();
  /** Newest heartbeat value received per token of a running attempt; lost with its owner (X3). */
  readonly heartbeats = new Map<string, Payload | null>();
  /** Addresses of the values there are per Attribute name: one for a plain Attribute, one an entry for a map. */
  readonly addresses = new Map<string, Set<Address>>();
  /** Unread messages per Channel address, oldest first. */
  readonly queues = new Map<Address, Set<string>>();
  /** Executions that wait on a Channel address, first come first. */
  readonly waiters = new Map<Address, Set<string>>();
  /** Snapshots that calls still see, with how many calls see each; ascending. */
  private readonly snapshots = new Map<number, number>();
  private readonly manyVersions = new Set<Address>();

  constructor(
    public head: RunHead,
    readonly tables: RunTables = emptyTables(),
  ) {
    this.executions = tables.executions;
    this.attributes = tables.attributes;
    this.messages = tables.messages;
    this.outputs = tables.outputs;
    this.blobs = tables.blobs;
    this.rebuildIndexes();
  }

  get isOpen(): boolean {
    return this.head.status === 'running';
  }

  get unread(): number {
    let count = 0;
    for (const queue of this.queues.values()) count += queue.size;
    return count;
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
    if (after.call?.snapshot != null) this.keepSnapshot(after.call.snapshot);
    if (before) this.unindex(before);
    this.index(after);
    if (before?.call?.snapshot != null) this.releaseSnapshot(before.call.snapshot);
  }

  /** Sets when an execution that was looked at without effect is next due. */
  rearm(id: string, now: number): void {
    const execution = this.executions.get(id);
    if (execution) this.due.set(id, dueOf(execution, now));
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
    for (const [, keys] of before.won?.messages ?? []) for (const key of keys) this.messages.delete(key);
  }

  addMessage(message: Omit<MessageRow, 'seq'>): void {
    const seq = this.nextSeq();
    const key = `${seq}`;
    this.messages.set(key, { seq, ...message });
    this.enqueue(message.address, key);
  }

  /** Takes a message out of its queue; its row goes with the execution that consumed it. */
  consumeMessage(key: string): void {
    const message = this.messages.get(key);
    if (!message) return;
    const queue = this.queues.get(message.address);
    queue?.delete(key);
    if (queue?.size === 0) this.queues.delete(message.address);
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
    const row = this.attributes.get(address);
    const versions = this.seen([...(row?.versions ?? []), [this.head.events, value]]);
    this.storeVersions(address, row?.seq ?? this.nextSeq(), versions);
  }

  /** The value at a snapshot, or the latest; undefined where there is none. */
  readAttribute(address: Address, snapshot = Number.POSITIVE_INFINITY): Payload | undefined {
    const versions = this.attributes.get(address)?.versions ?? [];
    for (let i = versions.length - 1; i >= 0; i--) if (versions[i]![0] <= snapshot) return versions[i]![1] ?? undefined;
    return undefined;
  }

  private rebuildIndexes(): void {
    const byIssue = [...this.executions.values()].sort((a, b) => issueOf(a) - issueOf(b));
    for (const execution of byIssue) {
      if (execution.call?.snapshot != null) this.keepSnapshot(execution.call.snapshot);
      this.index(execution);
    }
    const consumed = new Set<string>();
    for (const { won } of byIssue)
      for (const [, keys] of won?.messages ?? []) for (const key of keys) consumed.add(key);
    for (const [key, message] of this.messages.entries()) if (!consumed.has(key)) this.enqueue(message.address, key);
    for (const [address, row] of this.attributes.entries()) this.indexAttribute(address, row.versions);
  }

  private enqueue(address: Address, key: string): void {
    const queue = this.queues.get(address);
    if (queue) queue.add(key);
    else this.queues.set(address, new Set([key]));
  }

  private index(execution: Execution): void {
    const { id, call, wait } = execution;
    this.due.set(id, dueOf(execution));
    if (call?.state === 'ready') this.ready.add(id);
    if (call?.state === 'running') this.running.add(id);
    if (call?.state === 'locked') {
      this.locked.add(id);
      this.locks.wait(id, call.locks);
    } else if (call && call.state !== 'delayed' && call.locks.length > 0) this.locks.hold(id, call.locks);
    for (const condition of wait?.conditions ?? []) {
      if (condition.kind !== 'channel') continue;
      const waiters = this.waiters.get(condition.address);
      if (waiters) waiters.add(id);
      else this.waiters.set(condition.address, new Set([id]));
    }
  }

  private unindex(execution: Execution): void {
    const { id, call, wait } = execution;
    this.due.set(id, null);
    this.ready.delete(id);
    this.running.delete(id);
    if (call?.token != null) this.heartbeats.delete(call.token);
    this.locked.delete(id);
    if (call && call.locks.length > 0) this.locks.leave(id);
    for (const condition of wait?.conditions ?? []) {
      if (condition.kind !== 'channel') continue;
      const waiters = this.waiters.get(condition.address);
      waiters?.delete(id);
      if (waiters?.size === 0) this.waiters.delete(condition.address);
    }
  }

  private keepSnapshot(snapshot: number): void {
    this.snapshots.set(snapshot, (this.snapshots.get(snapshot) ?? 0) + 1);
  }

  private releaseSnapshot(snapshot: number): void {
    const count = this.snapshots.get(snapshot)! - 1;
    if (count > 0) {
      this.snapshots.set(snapshot, count);
      return;
    }
    this.snapshots.delete(snapshot);
    for (const address of [...this.manyVersions]) {
      const row = this.attributes.get(address)!;
      const versions = this.seen(row.versions);
      if (versions.length < row.versions.length) this.storeVersions(address, row.seq, versions);
    }
  }

  /** The latest version and those that a snapshot still sees. */
  private seen(versions: AttributeRow['versions']): AttributeRow['versions'] {
    return versions.filter(([version], i) => {
      const next = versions[i + 1];
      if (!next) return true;
      for (const snapshot of this.snapshots.keys()) if (snapshot >= version && snapshot < next[0]) return true;
      return false;
    });
  }

  private storeVersions(address: Address, seq: number, versions: AttributeRow['versions']): void {
    const gone = versions.length === 1 && versions[0]![1] === null;
    if (gone) this.attributes.delete(address);
    else this.attributes.set(address, { seq, versions });
    this.indexAttribute(address, gone ? [] : versions);
  }

  private indexAttribute(address: Address, versions: AttributeRow['versions']): void {
    if (versions.length > 1) this.manyVersions.add(address);
    else this.manyVersions.delete(address);
    const name = nameOf(address);
    const addresses = this.addresses.get(name) ?? new Set();
    if (versions.length > 0) this.addresses.set(name, addresses.add(address));
    else addresses.delete(address);
  }
}

function issueOf(execution: Execution): number {
  return execution.call?.issue ?? execution.wait?.issue ?? execution.seq;
}

/** When an execution next needs a look after a moment: a timer, the end of back-off or of an attempt, idle locks. */
function dueOf(execution: Execution, after = Number.NEGATIVE_INFINITY): number | null {
  const { call, wait } = execution;
  let next = Number.POSITIVE_INFINITY;
  const consider = (at: number) => {
    if (at > after && at < next) next = at;
  };
  if (call && call.dueAt !== null) consider(call.dueAt);
  if (call?.state === 'ready' && call.locks.length > 0) {
    consider(Math.max(call.since, after) + limits.lockIdleMs);
  }
  wait?.conditions.forEach((condition, i) => {
    if (condition.kind === 'timer' && !wait.skipped.includes(i)) consider(condition.dueAt);
  });
  return next === Number.POSITIVE_INFINITY ? null : next;
}
