import type { Command } from '../core';
import type {
  CallRequest,
  CallResult,
  Claim,
  IndexRequest,
  Introduce,
  Presence,
  Read,
  Request,
  Result,
  ToShard,
} from '../dispatch';
import { HoldfastError } from '../errors';
import type { Blocked } from './blocked';
import type { Calls } from './calls';
import type { Cells } from './cells';
import type { IndexFeed } from './index-feed';
import type { Outlet } from './outlet';
import type { Plans } from './plans';
import type { Reads } from './reads';
import type { ShardOwnerParts } from './shard-owner';
import type { Tasks } from './tasks';
import type { Travels } from './travels';
import type { WritePipeline } from './write-pipeline';

export interface IntakeParts {
  readonly epoch: number;
  readonly owner: ShardOwnerParts;
  readonly cells: Cells;
  readonly plans: Plans;
  readonly pipeline: WritePipeline;
  readonly outlet: Outlet;
  readonly tasks: Tasks;
  readonly calls: Calls;
  readonly reads: Reads;
  readonly travels: Travels;
  readonly blocked: Pick<Blocked, 'get' | 'has' | 'isAny'>;
  run(flowId: string, command: Command, onAnswer?: (answer: unknown) => void): void;
  readonly index: IndexFeed | undefined;
  answer(to: Request | Read | CallRequest | IndexRequest, value: unknown): void;
}

/** Takes what arrives in a shard's inbox to whom it concerns. */
export class Intake {
  /** Requests whose answer waits for a write, by the id of their message. */
  private readonly unanswered = new Set<string>();

  constructor(private readonly parts: IntakeParts) {}

  take(message: ToShard): void {
    switch (message.kind) {
      case 'introduce':
        return this.takeIntroduction(message);
      case 'beat':
        for (const token of message.tokens) this.meet(token);
        this.parts.tasks.beat(message);
        // What a blocked flow has handed out is not known here.
        if (!this.parts.blocked.isAny) this.parts.tasks.tellings.abortStrangers(message);
        return;
      case 'presence':
        return this.takePresence(message);
      case 'leave':
        this.parts.owner.callTakers.leave(message.process);
        return this.parts.owner.workers.leave(message.process);
      case 'request':
        return this.refusedBefore(message) ? undefined : this.takeRequest(message);
      case 'claim':
        return this.takeClaim(message);
      case 'tell':
        // One made with a plan that is not known here yet is repeated.
        if ('plan' in message.command && !this.parts.plans.has(message.command.plan)) return;
        return this.parts.run(message.flowId, message.command);
      case 'call':
        return this.refusedBefore(message) ? undefined : this.takeCall(message);
      case 'callResult':
        return this.takeCallResult(message);
      case 'result':
        return this.takeResult(message);
      case 'index':
        if (this.parts.index) return this.parts.index.ask(message.ask, (value) => this.parts.answer(message, value));
        return this.parts.answer(message, new HoldfastError('NO_INDEX', 'The engine was opened without an index.'));
      case 'read': {
        const { what } = message;
        if (what.kind === 'code' && !what.plans.every((plan) => this.knows({ kind: 'code', plan }, message.replyTo)))
          return;
        const blocked = this.parts.blocked.get(message.flowId);
        if (blocked) this.parts.answer(message, blocked);
        else this.parts.reads.take(message);
      }
    }
  }

  private takeIntroduction(message: Introduce): void {
    this.parts.plans.add(message.plans, this.parts.pipeline);
    this.parts.tasks.introduced(message.plans);
    this.parts.owner.workers.introduce(message);
    this.parts.owner.callTakers.introduce(message);
  }

  /**
   * A token of a later epoch: this owner has been replaced, or the store was put back to an earlier state. A write tells
   * which, before anybody hears of it or the message is let go.
   */
  private meet(token: string): void {
    if (Number(token.split('.')[1]) > this.parts.epoch) this.parts.pipeline.prove();
  }

  private takePresence({ process, plans }: Presence): void {
    const { owner, plans: known } = this.parts;
    if (plans.every((plan) => this.knows({ kind: 'presence', plan }, process))) {
      owner.workers.present(
        process,
        plans.map((plan) => known.get(plan)),
        owner.clock.monotonic(),
      );
    }
  }

  /** False for what was made with a plan that never came here: its sender introduces itself again, and repeats it. */
  private knows(command: { readonly kind: string; readonly plan?: string }, process: string): boolean {
    if (command.plan === undefined || this.parts.plans.has(command.plan)) return true;
    this.parts.outlet.post(process, { kind: 'unknown', shard: this.parts.owner.shard });
    return false;
  }

  private takeClaim(claim: Claim): void {
    if (!this.knows(claim, claim.process)) return;
    if (this.parts.blocked.has(claim.flowId)) this.parts.tasks.refuse(claim, 'gone');
    else if (claim.hint.kind === 'step') this.parts.tasks.claim(claim, claim.hint);
    else this.parts.calls.claim(claim, claim.hint);
  }

  /** Repeats what was said to this very message, if that was a refusal. */
  private refusedBefore(message: Request | CallRequest): boolean {
    const error = this.parts.owner.refusals.get(message.id);
    if (error) this.parts.answer(message, error);
    return error !== undefined;
  }

  private takeCall(request: CallRequest): void {
    if (this.knows(request.command, request.replyTo)) this.parts.calls.take(request);
  }

  private takeCallResult({ flowId, command }: CallResult): void {
    if (!this.knows(command, command.worker)) return;
    this.meet(command.token);
    this.parts.calls.over(command.worker, command.token);
    this.parts.tasks.tellings.resultCame(command.token);
    if (this.parts.blocked.has(flowId)) return this.discard(command);
    this.parts.run(flowId, command);
  }

  private takeRequest(request: Request): void {
    // The answer that its repeat wants is on its way.
    if (this.unanswered.has(request.id)) return;
    if (!this.knows(request.command, request.replyTo)) return;
    if (this.unanswered.size >= this.parts.owner.settings.maximumBacklog) {
      const error = new HoldfastError('OVERLOADED', `The engine has ${this.unanswered.size} unanswered requests.`);
      return this.parts.answer(request, error);
    }
    const { flowId, command } = request;
    const onAnswer = (answer: unknown) => {
      this.unanswered.add(request.id);
      this.parts.pipeline.whenDurable(this.parts.cells.get(request.flowId)?.changedIn ?? 0, () => {
        this.unanswered.delete(request.id);
        this.parts.answer(request, answer);
      });
      this.parts.pipeline.hurry();
    };
    if (command.kind !== 'timeTravel') return this.parts.run(flowId, command, onAnswer);
    const blocked = this.parts.blocked.get(flowId);
    if (blocked) return onAnswer(blocked);
    this.parts.travels.take(flowId, command, onAnswer);
  }

  private takeResult({ flowId, command, offer }: Result): void {
    if (!this.knows(command, command.worker)) return;
    this.meet(command.token);
    this.parts.owner.workers.release(command.worker, command.token);
    this.parts.tasks.over(command.token);
    this.parts.tasks.tellings.resultCame(command.token);
    if (this.parts.blocked.has(flowId)) return this.discard(command);
    const call = this.parts.cells.get(flowId)?.flow.run?.executions.get(command.execution)?.call;
    // Only once: the repeat of a result that was taken names the same slots again.
    if (offer && call?.token === command.token) {
      this.parts.tasks.credit(command.worker, this.parts.plans.get(command.plan), offer);
    }
    this.parts.run(flowId, command);
  }

  /** A blocked flow takes no result: its worker need not keep it. */
  private discard({ worker, token }: Result['command'] | CallResult['command']): void {
    this.parts.tasks.tellings.tell({ kind: 'resultTaken', worker, token, accepted: false });
  }
}
