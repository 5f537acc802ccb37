import type { CallTask, Task } from '../../../core';
import type { SimProcess } from '../sim-process';
import type { CallSeen, Seen } from './seen';

/** One run of a handler's body, seen from outside of the system. */
export interface BodyRun {
  readonly task: Task;
  readonly process: SimProcess;
  readonly enteredAt: number;
  /** What it read at its beginning. */
  readonly seen: Seen;
  /** Values of its heartbeats. */
  readonly beats: number[];
  /** How it ended, unless its process died first. */
  ended: 'returned' | 'threw' | undefined;
}

/** One run of the body of an RPC or Query. */
export interface CallRun {
  readonly task: CallTask;
  readonly process: SimProcess;
  readonly seen: CallSeen;
  ended: 'returned' | 'threw' | undefined;
}

/** What happened in the users' code: counters outside of the system under test. */
export class Journal {
  readonly bodies: BodyRun[] = [];
  readonly calls: CallRun[] = [];
  private readonly byToken = new Map<string, BodyRun>();
  private readonly callTokens = new Map<string, CallRun>();
  private readonly byCall = new Map<string, BodyRun[]>();

  constructor(
    private readonly watch: {
      entered(body: BodyRun): void;
      violated(rule: string, what: string): void;
    },
  ) {}

  enter(body: BodyRun): void {
    const { token, execution } = body.task;
    if (this.byToken.has(token)) this.watch.violated('X5', `the token ${token} of ${execution} was run twice`);
    this.byToken.set(token, body);
    this.bodies.push(body);
    const call = callName(body.task);
    const runs = this.byCall.get(call);
    if (runs) runs.push(body);
    else this.byCall.set(call, [body]);
    this.watch.entered(body);
  }

  enterCall(run: CallRun): void {
    const { token, rpc } = run.task;
    if (this.callTokens.has(token)) this.watch.violated('X5', `the token ${token} of ${rpc} was run twice`);
    this.callTokens.set(token, run);
    this.calls.push(run);
  }

  /** Runs of the body of a call, in the order in which they began. */
  ofRequest(flowId: string, requestId: string): readonly CallRun[] {
    return this.calls.filter(({ task }) => task.flowId === flowId && task.requestId === requestId);
  }

  /** Whether a handler runs in a process that lives. */
  isRunning(): boolean {
    return [...this.bodies, ...this.calls].some(({ ended, process }) => ended === undefined && !process.isDead);
  }

  withToken(token: string): BodyRun | undefined {
    return this.byToken.get(token);
  }

  /** All runs of a method call, in the order in which they began. */
  ofCall(call: string): readonly BodyRun[] {
    return this.byCall.get(call) ?? [];
  }
}

/** The same over continue-as-new. */
export function callName(call: { chainId: string; execution: string; method: string }): string {
  return `${call.chainId}/${call.execution}/${call.method}`;
}
