import { type CallAnswerEffect, type Command, DueQueue, type HandOutCallEffect, limits } from '../core';
import type { CallRequest } from '../dispatch';
import type { Cancel } from '../ports';
import { fromFailure } from '../values';
import type { Cell } from './cell';
import type { Cells } from './cells';
import type { ShardOwnerParts } from './shard-owner';
import type { WritePipeline } from './write-pipeline';

interface Waiting {
  readonly flowId: string;
  readonly requestId: string;
  readonly flow: string;
  readonly rpc: string;
  /** Everybody who asked with this id. */
  readonly requests: CallRequest[];
}

export interface CallParts {
  readonly epoch: number;
  readonly cells: Cells;
  readonly pipeline: WritePipeline;
  readonly owner: ShardOwnerParts;
  /** Watches a token in a worker's hands. */
  watch(worker: string, token: string, flowId: string): void;
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
  private readonly due = new DueQueue();
  private made = 0;
  private cancelTimer: Cancel | undefined;

  constructor(private readonly parts: CallParts) {}

  take(request: CallRequest): void {
    const { flowId, command } = request;
    const key = keyOf(flowId, command.requestId);
    const known = this.waiting.get(key);
    if (known) {
      if (!known.requests.some(({ id, replyTo }) => id === request.id && replyTo === request.replyTo)) {
        known.requests.push(request);
      }
      return;
    }
    const { rpc, flow } = command;
    this.waiting.set(key, { flowId, requestId: command.requestId, flow, rpc, requests: [request] });
    this.due.set(key, this.now() + request.deadlineMs);
    this.parts.run(flowId, command, (answer) => this.end(key, answer));
    this.arm();
  }

  becameReady(flowId: string, requestId: string): void {
    this.ready.add(keyOf(flowId, requestId));
  }

  /** Gives ready calls to workers that have a slot for them. */
  give(): void {
    const { owner, run, epoch, cells } = this.parts;
    for (const key of [...this.ready]) {
      const call = this.waiting.get(key);
      if (!call || !cells.get(call.flowId)) {
        this.ready.delete(key);
        continue;
      }
      const taker = owner.callTakers.takerFor(call.flow, call.rpc);
      if (!taker) continue;
      this.ready.delete(key);
      run(call.flowId, {
        kind: 'callStart',
        requestId: call.requestId,
        token: `${owner.shard}.${epoch}.c${++this.made}`,
        worker: taker.process,
        plan: taker.plan.fingerprint,
      });
    }
  }

  handOut(cell: Cell, { worker, task }: HandOutCallEffect): void {
    const { owner, pipeline, watch } = this.parts;
    owner.callTakers.hold(worker, task.token);
    watch(worker, task.token, task.flowId);
    if (cell.flow.run?.window === task.requestId) this.shorten(keyOf(task.flowId, task.requestId));
    pipeline.whenDurable(cell.changedIn, () =>
      owner.dispatch.post(worker, { kind: 'handOutCall', shard: owner.shard, task }),
    );
    pipeline.hurry();
  }

  over(worker: string, token: string): void {
    this.parts.owner.callTakers.release(worker, token);
    this.parts.unwatch(token);
  }

  answered(flowId: string, effect: CallAnswerEffect): void {
    const key = keyOf(flowId, effect.requestId);
    if ('error' in effect && effect.failure) {
      Object.defineProperty(effect.error, 'cause', { value: fromFailure(effect.failure), configurable: true });
    }
    this.end(key, 'error' in effect ? effect.error : effect.value);
  }

  close(): void {
    this.cancelTimer?.();
  }

  private end(key: string, answer: unknown): void {
    const call = this.waiting.get(key);
    if (!call) return;
    this.waiting.delete(key);
    this.ready.delete(key);
    this.due.set(key, null);
    const { pipeline, cells } = this.parts;
    pipeline.whenDurable(cells.get(call.flowId)?.changedIn ?? 0, () => {
      for (const request of call.requests) this.parts.answer(request, answer);
    });
    pipeline.hurry();
  }

  /** A transactional call has a window of its own, which may end before its deadline (R7). */
  private shorten(key: string): void {
    const windowEnd = this.now() + limits.windowMs;
    const call = this.waiting.get(key);
    if (!call) return;
    const deadline = this.now() + Math.max(...call.requests.map(({ deadlineMs }) => deadlineMs));
    this.due.set(key, Math.min(windowEnd, deadline));
    this.arm();
  }

  private arm(): void {
    this.cancelTimer?.();
    const next = this.due.next();
    if (next === null) return;
    this.cancelTimer = this.parts.owner.clock.after(Math.max(0, next - this.now()), () => {
      const gone = this.due.takeDue(this.now()).flatMap((key) => this.waiting.get(key) ?? []);
      this.parts.later(gone.map(({ flowId, requestId }) => [flowId, { kind: 'callGone', requestId }]));
      this.arm();
    });
  }

  private now(): number {
    return this.parts.owner.clock.monotonic();
  }
}

function keyOf(flowId: string, requestId: string): string {
  return `${flowId}\u0000${requestId}`;
}
