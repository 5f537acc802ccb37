import { type Address, type Event, type Execution, nameOf } from '../../../core';
import { decode } from '../../../values';
import { takes, waits } from '../workload/generate';
import { type ChildScript, type NodeInput, type Program, stepOptions } from '../workload/program';
import { type Seen, showCallSeen } from '../workload/seen';
import { parcelKeys } from '../workload/state';
import type { Witness } from './check';
import type { CallModel, ExecutionModel } from './execution-model';
import { LockModel } from './lock-model';
import { amounts, place } from './wait-model';

export type Status = 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'continuedAsNew';

/** The state of a run as the contract says it must be after its events. Knows nothing of how the system keeps it. */
export class RunModel {
  events = 0;
  lastAt = 0;
  status: Status = 'running';
  failKind: string | null = null;
  closing: Status | null = null;
  completing = false;
  durability: 'SYNC' | 'ASYNC' = 'SYNC';
  /** What a decision or the end of a Step has said about how the run ends. */
  forced: 'completed' | 'failed' | null = null;
  closeChecks: { execution: string; otherwise: number }[] = [];
  readonly counters = new Map<string, number>();
  executions = new Map<string, ExecutionModel>();
  /** All that have ended, and how. */
  readonly ended = new Map<string, 'completed' | 'failed' | 'cancelled'>();
  attributes = new Map<string, unknown>();
  unread = new Map<string, string[]>();
  readonly messageIds = new Map<string, string>();
  /** Messages that waits have consumed, in order. */
  readonly consumed: string[] = [];
  /** Answers of RPCs, by request. */
  readonly answers = new Map<string, unknown>();
  readonly skipped = new Set<string>();
  outputs: { stepExecutionId: string; value: unknown }[] = [];
  readonly locks = new LockModel();
  /** Attributes as they were after each of the run's events that changed one, for what clients are told. */
  pastAttributes: { readonly event: number; readonly shown: string }[] = [];
  /** All that an RPC could have seen after each of its events; only where there are RPCs. */
  pastStates: string[] = [];
  increments = 0;
  closedAt = 0;
  isRemoved = false;
  isTimedOut = false;
  deadlineAt: number | null = null;
  retentionMs = 0;
  /** The runs before and after it in its chain. */
  previous: RunModel | undefined;
  next: RunModel | undefined;
  nextRunId: string | null = null;
  /** Attributes that go along to the next run, where one is to begin. */
  continuing: { readonly keep: readonly string[] | undefined } | null = null;
  childrenDue: ChildScript[] = [];
  childrenEarly: string[] = [];
  stopsDue = new Set<string>();
  /** Movements and cancellations that a decision asked for and that are still to come in the same write. */
  movements: number[] = [];
  cancels = new Set<string>();
  cancelledByClosing = 0;

  constructor(
    readonly program: Program,
    readonly runId: string,
    readonly requestId: string,
    readonly startedAt: number,
    readonly chainId: string,
  ) {}

  get latest(): RunModel {
    return this.next?.latest ?? this;
  }

  /** The next run of the chain: all that is open goes along; the closed one keeps its Attributes and outputs (N2). */
  continueAs(runId: string, at: number): RunModel {
    const { keep } = this.continuing!;
    const kept = [...this.attributes].filter(([name]) => keep === undefined || keep.includes(name.split(' ')[0]!));
    const next: RunModel = Object.assign(Object.create(RunModel.prototype), this, {
      ...{ runId, requestId: '', startedAt: at, status: 'running', previous: this, nextRunId: null, continuing: null },
      attributes: new Map(kept),
      outputs: [...this.outputs],
      pastAttributes: [],
      pastStates: [],
    });
    this.next = next;
    this.executions = new Map();
    this.unread = new Map();
    this.stopsDue = new Set();
    return next;
  }

  get isOpen(): boolean {
    return this.status === 'running';
  }

  addExecution(event: Event & { kind: 'StepScheduled' }): ExecutionModel {
    const { nodes, timeoutNode } = this.program;
    const named = nodes[event.input === null ? timeoutNode! : (decode(event.input) as NodeInput).node]!;
    const execution: ExecutionModel = {
      id: event.execution,
      node: event.recovery ? nodes[named.rescue!]! : named,
      options: event.recovery ? stepOptions : named.options,
      from: event.from,
      recovery: event.recovery,
      call: null,
      wait: null,
      received: {},
      fired: [],
      subFlows: new Map(),
      local: null,
    };
    this.executions.set(execution.id, execution);
    return execution;
  }

  beginCall(execution: ExecutionModel, method: CallModel['method'], at: number, notBefore: number | null): CallModel {
    const locks = method === 'execute' ? this.locksOf(execution) : [];
    const call: CallModel = {
      method,
      durability: execution.options.durability ?? this.durability,
      locks,
      state: notBefore !== null ? 'delayed' : locks.length > 0 ? 'locked' : 'ready',
      attempt: 0,
      notBefore: notBefore ?? 0,
      firstAt: null,
      startedAt: 0,
      since: at,
      token: null,
      worker: null,
      expected: null,
      exhausted: false,
      entered: false,
    };
    execution.call = call;
    if (call.state === 'locked') this.locks.wait(execution.id, locks);
    return call;
  }

  firstMethod(step: Execution['step']): CallModel['method'] {
    return waits.has(step as never) ? 'waitFor' : 'execute';
  }

  end(id: string, how: 'completed' | 'failed' | 'cancelled'): void {
    this.executions.delete(id);
    this.ended.set(id, how);
    this.locks.release(id);
  }

  publish(address: Address, text: string): void {
    const name = place(address);
    const queue = this.unread.get(name);
    if (queue) queue.push(text);
    else this.unread.set(name, [text]);
  }

  write(address: Address, value: unknown): void {
    if (value === null) this.attributes.delete(place(address));
    else this.attributes.set(place(address), value);
  }

  countUnread(address: string): number {
    return this.unread.get(address)?.length ?? 0;
  }

  /** What an attempt sees that is handed out now. */
  lookOf(execution: ExecutionModel, method: CallModel['method'], { children }: Witness): Seen {
    const { node, received, fired, local } = execution;
    const isLate = execution.id.startsWith('@');
    const taken = isLate ? ['Note', 'Counter', 'Ledger', 'Letters', 'Parcels'] : takes[node.step];
    const subFlows: Record<string, string> = {};
    for (const [id, key] of method === 'execute' ? execution.subFlows : []) {
      const outcome = children.get(this.chainId, key)!.outcome;
      if (outcome !== null) subFlows[id] = outcome;
    }
    const attributes: Record<string, unknown> = {};
    for (const single of ['Note', 'Counter']) {
      if (taken.includes(single)) attributes[single] = this.attributes.get(single) ?? null;
    }
    if (node.step === 'Booking') {
      const own = `Ledger ${node.input.account}`;
      attributes[own] = this.attributes.get(own) ?? null;
    }
    for (const [name, value] of this.attributes) {
      const map = nameOf(name.replace(' ', '\u0000'));
      const whole = map === 'Tags' || (map === 'Ledger' && (isLate || node.step === 'Reading'));
      if (whole && taken.includes(map)) attributes[name] = value;
    }
    const channels = [
      ...(taken.includes('Letters') ? ['Letters'] : []),
      ...(taken.includes('Parcels') ? parcelKeys.map((key) => `Parcels ${key}`) : []),
    ];
    const executing = method === 'execute';
    return {
      attributes,
      unread: Object.fromEntries(channels.map((name) => [name, [...(this.unread.get(name) ?? [])]])),
      received: Object.fromEntries(channels.map((name) => [name, executing ? (received[name] ?? []) : []])),
      fired: executing ? fired : [],
      local: executing ? local : null,
      subFlows,
    };
  }

  /** What an RPC reads of the Attributes, in order. */
  callAttributes(): readonly (readonly [string, unknown])[] {
    const seen: [string, unknown][] = [];
    for (const single of ['Counter', 'Note']) seen.push([single, this.attributes.get(single) ?? null]);
    for (const [name, value] of this.attributes) if (name.startsWith('Ledger ')) seen.push([name, value]);
    return seen.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Whether a call in its chain could have seen that. */
  wasOnce(state: string): boolean {
    return this.pastStates.includes(state) || (this.previous?.wasOnce(state) ?? false);
  }

  /** What an RPC or Query sees that is handed out now. */
  callLook(): string {
    const channels = ['Letters', ...parcelKeys.map((key) => `Parcels ${key}`)];
    return showCallSeen({
      attributes: Object.fromEntries(this.callAttributes()),
      unread: Object.fromEntries(channels.map((name) => [name, this.unread.get(name) ?? []])),
    });
  }

  /** A message that is read or unknown is passed over. */
  deleteMessage(id: string): void {
    const text = this.messageIds.get(id);
    for (const queue of this.unread.values()) {
      const index = text === undefined ? -1 : queue.indexOf(text);
      if (index >= 0) queue.splice(index, 1);
    }
  }

  showAttributes(): string {
    return JSON.stringify([...this.attributes].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** What is left undone at the end of a write that should have been done in it. */
  neglected({ children }: Witness): string | undefined {
    const { calls } = this.program;
    if (this.status === 'continuedAsNew' && !this.next)
      return 'the next run of its chain did not begin in the same write';
    if (this.next) return undefined;
    if (this.movements.length > 0) return 'movements of a decision were not scheduled';
    if (this.childrenDue.length > 0) return 'a SubFlow was not asked for';
    if (this.stopsDue.size > 0) return `${[...this.stopsDue].join(', ')} should have been told to end`;
    if (this.cancels.size > 0) return `${[...this.cancels].join(', ')} should have been cancelled`;
    if (!this.isOpen || this.closing) return undefined;
    // Open RPCs are not stored: they may hold locks, put closing off, or have everything else wait (R7).
    const lockless = calls.size > 0 ? undefined : this.locks.neglected();
    if (lockless !== undefined) return `the locks of ${lockless} are free and were not granted`;
    if (calls.size > 0) return undefined;
    if (this.closeChecks.length > 0) return 'a completeIfEmpty was not tested';
    if (this.completing && this.executions.size === 0) return 'a completion was asked for and no Step is left';
    for (const { id, wait } of this.executions.values()) {
      const hasClosed = (key: string) => children.get(this.chainId, key)!.outcome !== null;
      const unread = (address: string) => this.countUnread(address);
      const holds = wait?.candidates.some((each) => amounts(wait, each, unread, 0, hasClosed) !== undefined);
      if (holds) return `the wait of ${id} holds and was left waiting`;
    }
    return undefined;
  }

  /** When an owner must look at the run, at the latest; 0 for always, undefined for never by itself. */
  dueAt(now: number): number | undefined {
    if (!this.isOpen) return undefined;
    let due =
      this.isTimedOut || this.closing ? Number.POSITIVE_INFINITY : (this.deadlineAt ?? Number.POSITIVE_INFINITY);
    for (const { id, call, wait } of this.executions.values()) {
      if (call?.state === 'ready' || call?.state === 'running') return 0;
      if (call?.state === 'locked' && this.locks.obstacle(id) === undefined) return 0;
      if (call?.state === 'backoff' || call?.state === 'delayed') due = Math.min(due, call.notBefore);
      for (const [index, { address, dueAt, child }] of wait?.conditions.entries() ?? []) {
        if (address === undefined && child === undefined && dueAt > now && !wait!.skipped.has(index))
          due = Math.min(due, dueAt);
      }
    }
    return Number.isFinite(due) ? due : undefined;
  }

  private locksOf({ node }: ExecutionModel): CallModel['locks'] {
    const { account } = node.input;
    switch (node.step) {
      case 'Counting':
      case 'CountingLate':
        return [{ address: 'Counter', mode: 'exclusive' }];
      case 'Booking':
        return [{ address: `Ledger\u0000${account}`, mode: 'exclusive' }];
      case 'Reading':
        return [
          { address: 'Counter', mode: 'shared' },
          { address: 'Ledger', mode: 'shared' },
        ];
      default:
        return [];
    }
  }
}
