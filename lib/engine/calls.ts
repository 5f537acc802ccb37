import {
  type CallAnswerEffect,
  type CallTask,
  type Command,
  callHolder,
  DueQueue,
  type HandOutCallEffect,
  limits,
} from '../core';
import type { CallHint, CallRequest, Claim, ToProcess } from '../dispatch';
import { HoldfastError } from '../errors';
import { isPlanOf, rpcNamed } from '../plan';
import type { Cancel } from '../ports';
import { fromFailure } from '../values';
import type { Cell } from './cell';
import type { Cells } from './cells';
import type { Outlet } from './outlet';
import type { Plans } from './plans';
import type { ShardOwnerParts } from './shard-owner';
import { Unsent } from './unsent';
import type { WritePipeline } from './write-pipeline';

interface Waiting {
  readonly flowId: string;
  readonly requestId: string;
  readonly digest: string;
  readonly flow: string;
  readonly rpc: string;
  readonly deadlineAt: number;
  /** Everybody who asked with this id. */
  readonly requests: CallRequest[];
  /** Grows each time the call becomes ready. */
  issue: number;
}

/** A call in a worker's hands, as it was sent. */
interface Sent {
  readonly worker: string;
  readonly message: ToProcess;
}

/** What a worker lacks is offered again after this time: another may have it. */
const lackingMs = 1_000;

export interface CallParts {
  readonly epoch: number;
  readonly cells: Cells;
  readonly plans: Plans;
  readonly outlet: Outlet;
  readonly pipeline: WritePipeline;
  readonly owner: ShardOwnerParts;
  /** Watches a token in a worker's hands. */
  watch(worker: string, task: CallTask): void;
  unwatch(token: string): void;
  run(flowId: string, command: Command, onAnswer?: (answer: unknown) => void): void;
  later(commands: readonly (readonly [flowId: string, command: Command])[]): void;
  answer(request: CallRequest, value: unknown): void;
}

/** RPCs and Queries that are not answered: in memory only, their clients repeat them after a loss (R6). */
export class Calls {
  private readonly waiting = new Map<string, Waiting>();
  /** Keys of calls that a worker may take, oldest first. */
  private readonly ready = new Set<string>();
  private readonly offered = new Set<string>();
  private readonly sent = new Map<string, Sent>();
  /** The claim being answered in this very turn. */
  private answering: string | undefined;
  private readonly due = new DueQueue();
  /** When calls that hold locks and are ready are looked at, by key (L3). */
  private readonly idle = new DueQueue();
  private made = 0;
  private readonly unsent: Unsent;
  private cancelTimer: Cancel | undefined;

  constructor(private readonly parts: CallParts) {
    this.unsent = new Unsent(parts.owner.callTakers);
  }

  take(request: CallRequest): void {
    const { flowId, command } = request;
    const key = keyOf(flowId, command.requestId);
    const known = this.waiting.get(key);
    if (known && known.digest !== command.digest) {
      const message = `The id ${JSON.stringify(command.requestId)} is that of another call, which is not answered yet.`;
      return this.parts.answer(request, new HoldfastError('ID_CONFLICT', message, { where: flowId }));
    }
    if (known) {
      if (!known.requests.some(({ id, replyTo }) => id === request.id && replyTo === request.replyTo)) {
        known.requests.push(request);
      }
      return;
    }
    const { rpc, requestId, digest } = command;
    // By the name that the run has: it may be one from before or after the caller's.
    const run = this.parts.cells.get(flowId)?.flow.run;
    const flow = run && isPlanOf(this.parts.plans.get(command.plan), run.head.flow) ? run.head.flow : command.flow;
    const deadlineAt = this.now() + request.deadlineMs;
    this.waiting.set(key, { flowId, requestId, digest, flow, rpc, requests: [request], deadlineAt, issue: 0 });
    this.due.set(key, deadlineAt);
    this.parts.run(flowId, command, (answer) => this.end(key, answer));
    this.arm();
  }

  becameReady({ flow }: Cell, requestId: string): void {
    const key = keyOf(flow.head.flowId, requestId);
    const call = this.waiting.get(key);
    if (!call) return;
    call.issue++;
    this.ready.add(key);
    // The window of a worker that was lost is over; the next one begins with the next hand-out.
    this.due.set(key, call.deadlineAt);
    if (flow.run?.locks.addressesOf(callHolder(requestId)).length) this.idle.set(key, this.now() + limits.lockIdleMs);
    this.arm();
  }

  /** It has given its locks back and waits for them again. */
  queuedAgain({ flow }: Cell, requestId: string): void {
    const key = keyOf(flow.head.flowId, requestId);
    const call = this.waiting.get(key);
    if (call) this.notReady(key, call);
  }

  /** Gives ready calls to workers that have a slot for them. */
  give(): void {
    const { owner, cells } = this.parts;
    for (const key of [...this.ready]) {
      const call = this.waiting.get(key);
      if (!call || !cells.get(call.flowId)) {
        this.ready.delete(key);
        continue;
      }
      const taker = owner.callTakers.takerFor(call.flow, call.rpc);
      if (taker) this.start(key, call, taker.process, taker.plan.fingerprint);
      else if (!this.offered.has(key)) this.offer(key, call);
    }
  }

  /** A worker has read a hint and wants its call. */
  claim(claim: Claim, hint: CallHint): void {
    const { outlet, plans } = this.parts;
    const key = keyOf(hint.flowId, hint.requestId);
    const call = this.waiting.get(key);
    const refuse = (reason: 'gone' | 'lacking') =>
      outlet.post(claim.process, { kind: 'claimRefused', claim: claim.id, reason });
    if (!call || !this.ready.has(key) || this.hintOf(key, call).id !== hint.id) {
      for (const { message, worker } of this.sent.values()) {
        if (message.kind === 'handOutCall' && message.claim === claim.id) return outlet.post(worker, message);
      }
      return refuse('gone');
    }
    if (!rpcNamed(plans.get(claim.plan), hint.rpc)) {
      refuse('lacking');
      outlet.withdraw(hint.id);
      this.parts.owner.clock.after(lackingMs, () => {
        if (this.ready.has(key)) this.offer(key, call);
      });
      return;
    }
    this.answering = claim.id;
    this.start(key, call, claim.process, claim.plan);
    this.answering = undefined;
  }

  /** Sends a call again that its worker does not know of; false for another token. */
  sendAgain(token: string): boolean {
    const sent = this.sent.get(token);
    if (sent) this.parts.outlet.post(sent.worker, sent.message);
    return sent !== undefined;
  }

  handOut(cell: Cell, { worker, task }: HandOutCallEffect): void {
    const { owner, pipeline, watch, outlet } = this.parts;
    owner.callTakers.hold(worker, task.token);
    this.unsent.add(task.token, worker);
    if (cell.flow.run?.window === task.requestId) this.shorten(keyOf(task.flowId, task.requestId));
    const claim = this.answering;
    const message: ToProcess = {
      kind: 'handOutCall',
      shard: owner.shard,
      task,
      ...(claim !== undefined && { claim }),
    };
    this.sent.set(task.token, { worker, message });
    pipeline.whenDurable(cell.changedIn, () => {
      if (!this.unsent.send(task.token)) return;
      watch(worker, task);
      outlet.post(worker, message);
    });
    pipeline.hurry();
  }

  over(worker: string, token: string): void {
    this.parts.owner.callTakers.release(worker, token);
    this.parts.unwatch(token);
    this.sent.delete(token);
  }

  answered(flowId: string, effect: CallAnswerEffect): void {
    const key = keyOf(flowId, effect.requestId);
    if ('error' in effect && effect.failure) {
      Object.defineProperty(effect.error, 'cause', { value: fromFailure(effect.failure), configurable: true });
    }
    this.end(key, 'error' in effect ? effect.error : effect.value);
  }

  close(): void {
    this.unsent.dropAll();
  }

  private start(key: string, call: Waiting, worker: string, plan: string): void {
    const { owner, run, epoch } = this.parts;
    this.notReady(key, call);
    const token = `${owner.shard}.${epoch}.c${++this.made}`;
    run(call.flowId, { kind: 'callStart', requestId: call.requestId, token, worker, plan });
  }

  private offer(key: string, call: Waiting): void {
    this.offered.add(key);
    const { pipeline, outlet, cells } = this.parts;
    const hint = this.hintOf(key, call);
    pipeline.whenDurable(cells.get(call.flowId)?.changedIn ?? 0, () => {
      // It may have been taken meanwhile, or be ready anew.
      if (this.offered.has(key) && this.hintOf(key, call).id === hint.id) outlet.offer(hint);
    });
    pipeline.hurry();
  }

  private notReady(key: string, call: Waiting): void {
    this.ready.delete(key);
    this.idle.set(key, null);
    if (this.offered.delete(key)) this.parts.outlet.withdraw(this.hintOf(key, call).id);
  }

  private hintOf(key: string, { flowId, flow, requestId, rpc, issue }: Waiting): CallHint {
    const { shard } = this.parts.owner;
    return { kind: 'call', id: `${key}\u0000${issue}`, shard, flowId, flow, requestId, rpc, taskQueue: null };
  }

  private end(key: string, answer: unknown): void {
    const call = this.waiting.get(key);
    if (!call) return;
    this.notReady(key, call);
    this.waiting.delete(key);
    this.due.set(key, null);
    const { pipeline, cells } = this.parts;
    pipeline.whenDurable(cells.get(call.flowId)?.changedIn ?? 0, () => {
      for (const request of call.requests) this.parts.answer(request, answer);
    });
    pipeline.hurry();
  }

  /** A transactional call has a window of its own, which may end before its deadline (R7). */
  private shorten(key: string): void {
    const call = this.waiting.get(key);
    if (!call) return;
    this.due.set(key, Math.min(this.now() + limits.windowMs, call.deadlineAt));
    this.arm();
  }

  private arm(): void {
    this.cancelTimer?.();
    const next = Math.min(this.due.next() ?? Number.POSITIVE_INFINITY, this.idle.next() ?? Number.POSITIVE_INFINITY);
    if (next === Number.POSITIVE_INFINITY) return;
    this.cancelTimer = this.parts.owner.clock.after(Math.max(0, next - this.now()), () => {
      const now = this.now();
      const idle = this.idle.takeDue(now);
      for (const key of idle) this.idle.set(key, now + limits.lockIdleMs);
      this.tell(idle, 'callIdle');
      this.tell(this.due.takeDue(now), 'callGone');
      this.arm();
    });
  }

  private tell(keys: readonly string[], kind: 'callIdle' | 'callGone'): void {
    const calls = keys.flatMap((key) => this.waiting.get(key) ?? []);
    this.parts.later(calls.map(({ flowId, requestId }) => [flowId, { kind, requestId }]));
  }

  private now(): number {
    return this.parts.owner.clock.monotonic();
  }
}

function keyOf(flowId: string, requestId: string): string {
  return `${flowId}\u0000${requestId}`;
}
