import type { Obligation } from './child';
import type { StartCommand } from './command';
import type { ChildClosedCommand } from './flow-message';
import { limits } from './limits';
import type { Payload } from './payload';
import type { RunState } from './run-state';
import type {
  FiringRow,
  RecentFiring,
  ScheduleAction,
  ScheduleCounts,
  ScheduleState,
  StartTerms,
} from './schedule-state';
import { type Row, Table } from './table';

export interface FlowHead {
  readonly flowId: string;
  readonly seq: number;
  /** The latest run, open or closed; null: none yet. */
  readonly runId: string | null;
  /** Present where the flowId is that of a schedule (F11). */
  readonly schedule?: ScheduleState;
}

/** The latest firings that a schedule shows. */
const recentFirings = 10;

/** A request that was applied: a repeat gets the saved answer (I1, I2). */
export interface Remembered extends Row {
  readonly at: number;
  readonly digest: string;
  readonly answer: unknown;
}

/** The would-be first state of a run, and the call that decides whether it begins. */
export interface PendingStart {
  readonly command: StartCommand;
  readonly run: RunState;
}

/** What a parent is to be told until it has answered. */
export interface OwedOutcome extends Row {
  readonly parentFlowId: string;
  readonly command: ChildClosedCommand;
}

/** Everything an owner keeps of one flowId: the ids of its requests, over all runs, and its latest run. */
export class FlowState {
  readonly ids = new Table<Remembered>();
  /** What closed runs still owe their children (U3). */
  readonly obligations = new Table<Obligation>();
  /** What a schedule starts: one row. */
  readonly actions = new Table<ScheduleAction>();
  /** Firings of a schedule whose runs are starting or open. */
  readonly firings = new Table<FiringRow>();
  /** How runs ended that another has replaced, for parents that have not saved it yet (U5). */
  readonly outcomes = new Table<OwedOutcome>();
  run: RunState | undefined;
  /** A start whose first call is being made: nothing of it is saved yet (R10). Lost with the owner. */
  pending: PendingStart | undefined;

  constructor(public head: FlowHead) {}

  static empty(flowId: string): FlowState {
    return new FlowState({ flowId, seq: 0, runId: null });
  }

  setRun(run: RunState): void {
    this.run = run;
    this.head = { ...this.head, runId: run.head.runId };
  }

  /** Takes over what a run that closes owes its children: starts that are not confirmed, and its close policy. */
  inherit(run: RunState): void {
    const { chainId, trace } = run.head;
    for (const child of run.children.values()) {
      const { key, state, parentClose, attached, flowId, flow, plan, newRunId, reuse, runId } = child;
      if (state === 'held' && parentClose !== 'abandon') continue;
      if (state === 'closed' || (state === 'started' && (attached || (parentClose === 'abandon' && !child.stop))))
        continue;
      const stop = parentClose === 'abandon' ? child.stop : parentClose;
      const input = child.input === null ? null : run.payloadOf(child.input);
      const request = { flowId, flow, plan, newRunId, input, reuse, ...(trace && { trace }) };
      const start = state === 'starting' || state === 'held' ? request : null;
      this.owe({ chainId, key, childFlowId: flowId, start, runId, stop });
    }
  }

  /** The flowId owes a child its start or its stop until the child has answered. */
  owe(obligation: Omit<Obligation, 'seq'>): void {
    const { chainId, key } = obligation;
    this.obligations.set(`${chainId} ${key}`, { seq: this.nextSeq(), ...obligation });
  }

  owed(chainId: string, key: string): Obligation | undefined {
    return this.obligations.get(`${chainId} ${key}`);
  }

  fulfil(chainId: string, key: string): void {
    if (!this.obligations.has(`${chainId} ${key}`)) return;
    this.obligations.delete(`${chainId} ${key}`);
    this.nextSeq();
  }

  get action(): ScheduleAction | undefined {
    return this.actions.get('');
  }

  setAction(flowId: string, input: Payload | null, terms: StartTerms): void {
    this.actions.set('', { seq: this.nextSeq(), flowId, input, terms });
  }

  setSchedule(schedule: ScheduleState): void {
    this.head = { ...this.head, schedule };
  }

  setFiring(firing: Omit<FiringRow, 'seq'>): void {
    this.firings.set(firing.key, { ...firing, seq: this.nextSeq() });
  }

  dropFiring(key: string): void {
    this.firings.delete(key);
    this.nextSeq();
  }

  /** Notes what has become of a firing, in place of what was noted of it before. */
  noteFiring(firing: RecentFiring, more: Partial<ScheduleCounts>): void {
    const schedule = this.head.schedule!;
    const counts = { ...schedule.counts };
    for (const [name, n] of Object.entries(more)) counts[name as keyof ScheduleCounts] += n;
    const others = schedule.recent.filter(({ flowId }) => flowId === null || flowId !== firing.flowId);
    const recent = [firing, ...others].sort((a, b) => b.at - a.at).slice(0, recentFirings);
    this.setSchedule({ ...schedule, counts, recent });
  }

  /** Lets go of the schedule; starts that are on their way still arrive. */
  dropSchedule(): void {
    for (const key of [...this.firings.keys()]) this.firings.delete(key);
    this.actions.delete('');
    const { schedule, ...head } = this.head;
    this.head = head;
    this.nextSeq();
  }

  /** When the flowId next needs a look; null: never by itself. */
  get nextDueAt(): number | null {
    const { schedule } = this.head;
    if (schedule) return schedule.paused ? null : schedule.nextAt;
    return this.run?.isOpen ? this.run.due.next() : null;
  }

  /** Keeps what a run that is replaced has not told its parents. */
  keepOutcome(parentFlowId: string, command: ChildClosedCommand): void {
    const seq = this.head.seq + 1;
    this.head = { ...this.head, seq };
    this.outcomes.set(`${command.chainId} ${command.key}`, { seq, parentFlowId, command });
  }

  outcomeDelivered(chainId: string, key: string): void {
    if (!this.outcomes.has(`${chainId} ${key}`)) return;
    this.outcomes.delete(`${chainId} ${key}`);
    this.head = { ...this.head, seq: this.head.seq + 1 };
  }

  /** Closed runs of it still have something to tell others. */
  get isOwing(): boolean {
    return this.obligations.size + this.outcomes.size > 0;
  }

  /** Rows have changed that are not those of a run. */
  get isDirty(): boolean {
    return this.ids.isDirty || this.obligations.isDirty || this.outcomes.isDirty;
  }

  /** Nothing of the flowId is worth keeping. */
  get isEmpty(): boolean {
    const { runId, schedule } = this.head;
    return runId === null && !schedule && this.ids.size === 0 && !this.isOwing && !this.pending;
  }

  /** Drops ids that need not be remembered any more; gives the time when the others can go, undefined if none is left. */
  forgetIds(now: number): number | undefined {
    let latest: number | undefined;
    for (const [id, row] of [...this.ids.entries()]) {
      if (row.at + limits.rememberedMs <= now) this.ids.delete(id);
      else latest = row.at + limits.rememberedMs;
    }
    return latest;
  }

  remember(id: string, digest: string, answer: unknown, at: number): void {
    this.ids.set(id, { seq: this.nextSeq(), at, digest, answer });
    for (const [oldest, row] of this.ids.entries()) {
      if (this.ids.size <= limits.rememberedCount || row.at > at - limits.rememberedMs) return;
      this.ids.delete(oldest);
    }
  }

  private nextSeq(): number {
    const seq = this.head.seq + 1;
    this.head = { ...this.head, seq };
    return seq;
  }
}
