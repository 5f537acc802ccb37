import type { Obligation } from './child';
import type { StartCommand } from './command';
import { limits } from './limits';
import type { RunState } from './run-state';
import { type Row, Table } from './table';

export interface FlowHead {
  readonly flowId: string;
  readonly seq: number;
  /** The latest run, open or closed; null: none yet. */
  readonly runId: string | null;
}

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

/** Everything an owner keeps of one flowId: the ids of its requests, over all runs, and its latest run. */
export class FlowState {
  readonly ids = new Table<Remembered>();
  /** What closed runs still owe their children (U3). */
  readonly obligations = new Table<Obligation>();
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
    const { chainId } = run.head;
    for (const child of run.children.values()) {
      const { key, state, parentClose, attached, flowId, flow, plan, newRunId, reuse, runId } = child;
      if (state === 'closed' || (state === 'started' && (attached || (parentClose === 'abandon' && !child.stop))))
        continue;
      const stop = parentClose === 'abandon' ? child.stop : parentClose;
      const input = child.input === null ? null : run.payloadOf(child.input);
      const start = state === 'starting' ? { flowId, flow, plan, newRunId, input, reuse } : null;
      const seq = this.head.seq + 1;
      this.head = { ...this.head, seq };
      this.obligations.set(`${chainId} ${key}`, { seq, chainId, key, childFlowId: flowId, start, runId, stop });
    }
  }

  fulfil(chainId: string, key: string): void {
    if (!this.obligations.has(`${chainId} ${key}`)) return;
    this.obligations.delete(`${chainId} ${key}`);
    this.head = { ...this.head, seq: this.head.seq + 1 };
  }

  /** Nothing of the flowId is worth keeping. */
  get isEmpty(): boolean {
    return this.head.runId === null && this.ids.size === 0 && this.obligations.size === 0 && !this.pending;
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
    const seq = this.head.seq + 1;
    this.head = { ...this.head, seq };
    this.ids.set(id, { seq, at, digest, answer });
    for (const [oldest, row] of this.ids.entries()) {
      if (this.ids.size <= limits.rememberedCount || row.at > at - limits.rememberedMs) return;
      this.ids.delete(oldest);
    }
  }
}
