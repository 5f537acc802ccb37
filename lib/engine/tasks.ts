import { type Command, type HandOutEffect, type Outstanding, type ReadyEffect, type Task, taskOf } from '../core';
import type { Beat, Claim, ShardInbox, SlotOffer, StepHint } from '../dispatch';
import type { FlowPlan } from '../plan';
import type { Cell } from './cell';
import type { Cells } from './cells';
import { ClaimTokens } from './claim-tokens';
import { Credits } from './credits';
import { HandedOut, type Silence } from './handed-out';
import { HeldBack } from './held-back';
import { Lacking } from './lacking';
import { Limited } from './limited';
import type { Outlet } from './outlet';
import type { Plans } from './plans';
import type { QueueLength } from './queue-state';
import { issueId, type ReadyCall, ReadyPool } from './ready-pool';
import type { ShardOwnerParts } from './shard-owner';
import { SilenceWatch } from './silence-watch';
import { callOf, hintOf } from './step-hint';
import { Unsent } from './unsent';
import { runs, type Taker } from './worker-registry';
import { WorkerTellings } from './worker-tellings';
import type { WritePipeline } from './write-pipeline';

export interface TaskParts {
  readonly epoch: number;
  readonly inbox: ShardInbox;
  readonly cells: Cells;
  readonly plans: Plans;
  readonly pipeline: WritePipeline;
  readonly outlet: Outlet;
  readonly owner: ShardOwnerParts;
  /** Sends an RPC or Query again that its worker does not know of; false for another token. */
  sendCallAgain(token: string): boolean;
  /** Decides a command in the running turn. */
  run(flowId: string, command: Command): void;
  /** Asks for a turn. */
  wake(): void;
  /** Decides commands in a turn of their own. */
  later(commands: readonly (readonly [flowId: string, command: Command])[]): void;
}

/** What waits for a worker and what is in a worker's hands. */
export class Tasks {
  private readonly pool = new ReadyPool();
  private readonly credits = new Credits();
  private readonly heldBack: HeldBack;
  private readonly handedOut = new HandedOut();
  /** Calls that became ready in this turn. */
  private fresh: ReadyCall[] = [];
  private readonly claims = new ClaimTokens();
  private readonly unsent: Unsent;
  private readonly limited: Limited;
  private made = 0;
  private readonly watching: SilenceWatch;
  readonly lacking: Lacking;
  readonly tellings: WorkerTellings;

  constructor(private readonly parts: TaskParts) {
    const { clock } = parts.owner;
    this.unsent = new Unsent(parts.owner.workers);
    this.tellings = new WorkerTellings(this.handedOut, parts.pipeline, parts.outlet);
    this.heldBack = new HeldBack(clock);
    this.lacking = new Lacking(clock, parts.owner.workers, this.heldBack, parts.inbox);
    this.watching = new SilenceWatch(
      clock,
      this.handedOut,
      () => parts.inbox.isHeard,
      (silences) => this.fail(silences),
    );
    this.limited = new Limited(
      parts.owner,
      () => parts.wake(),
      (call) => this.offer(call),
    );
  }

  ready(cell: Cell, effect: ReadyEffect): void {
    const { flowId, runId, flow } = cell.flow.run!.head;
    const call: ReadyCall = { ...effect, flowId, runId, flow, ...this.limited.of(cell, effect) };
    const replaced = this.pool.add(call, this.parts.owner.clock.now());
    if (replaced && replaced.issue !== call.issue) this.withdraw(replaced);
    this.fresh.push(call);
  }

  /** A process has come with these plans. */
  introduced(plans: readonly FlowPlan[]): void {
    this.heldBack.expect(({ flow, step }) => plans.some((plan) => runs(plan, flow, step)));
  }

  /** A worker named free slots in a message of this turn. */
  credit(process: string, plan: FlowPlan, offer: SlotOffer): void {
    this.credits.add(process, plan, offer);
  }

  /** A worker has read a hint and wants its call. */
  claim(claim: Claim, hint: StepHint): void {
    const { id, process } = claim;
    const known = this.claims.tokenOf(id);
    if (known !== undefined) return this.sendAgain(process, known, hint.flowId);
    const call = callOf(hint);
    const plan = this.parts.plans.get(claim.plan);
    if (!runs(plan, hint.flow, hint.step)) return this.holdBack(call, claim);
    if (this.pool.has(call) && !this.limited.mayTake(call)) return this.refuse(claim, 'gone');
    this.pool.remove(call);
    this.heldBack.remove(call);
    this.parts.outlet.forget(hint.id);
    this.take({ call, process, plan }, id);
  }

  /** The call that a worker wanted is not to be had. */
  refused(cell: Cell | undefined, { worker, token }: { readonly worker: string; readonly token: string }): void {
    const claim = this.claims.claimOf(token);
    this.over(token);
    if (claim === undefined) return;
    const { pipeline } = this.parts;
    pipeline.whenDurable(cell?.changedIn ?? 0, () => this.refuse({ id: claim, process: worker }, 'gone'));
  }

  refuse({ id, process }: Pick<Claim, 'id' | 'process'>, reason: 'gone' | 'lacking'): void {
    this.parts.outlet.post(process, { kind: 'claimRefused', claim: id, reason });
  }

  /** Sends a task on its way: for SYNC when its start is durable; for ASYNC at once, yet after the SYNC result before it. */
  handOut(cell: Cell, { worker, task, durability }: HandOutEffect): void {
    const { pipeline, owner } = this.parts;
    owner.workers.hold(worker, task.token);
    this.unsent.add(task.token, worker);
    const send = () => {
      // The attempt may be over before it could begin.
      if (!this.unsent.send(task.token)) return;
      this.watch(worker, task);
      this.post(worker, task);
    };
    if (durability === 'ASYNC') return pipeline.whenDurable(cell.syncResultIn, send);
    pipeline.whenDurable(pipeline.gathering, send);
    pipeline.hurry();
  }

  /** Something is in a worker's hands from now on. */
  watch(worker: string, inHand: Pick<Task, 'flowId' | 'heartbeatTimeoutMs' | 'token'>): void {
    this.handedOut.add(worker, inHand, this.parts.owner.clock.monotonic());
    this.watching.lookLater();
  }

  /** The attempt is over for this owner, whether the worker knows it or not. */
  over(token: string): void {
    this.handedOut.remove(token);
    this.unsent.drop(token);
    this.claims.forget(token);
    this.limited.over(token);
  }

  /**
   * Gives ready calls to workers with free slots: the start is saved in the batch that gathers (the short cut). What became
   * ready in this turn and is left is offered to all.
   */
  give(): void {
    const { owner, cells } = this.parts;
    const mayBegin = (call: ReadyCall) => this.limited.mayBegin(call);
    for (;;) {
      const taker = owner.workers.takerFor(this.pool, mayBegin) ?? this.credits.takerFor(this.pool, mayBegin);
      if (!taker) break;
      this.withdraw(taker.call);
      if (cells.get(taker.call.flowId)) this.take(taker);
    }
    this.credits.clear();
    for (const call of this.fresh.splice(0)) this.offerWhenSaved(call);
  }

  /** Issues again what a run has outstanding; attempts of workers that are gone fail now (X10). */
  takeUp(cell: Cell, { ready, running }: Outstanding): void {
    const { owner, run } = this.parts;
    for (const effect of ready) this.ready(cell, effect);
    const gone = new Set<string>();
    for (const { worker, task } of running) {
      if (owner.dispatch.isGone(worker)) gone.add(worker);
      else {
        owner.workers.hold(worker, task.token);
        this.watch(worker, task);
        this.limited.holdAgain(cell, task, this.parts.plans.of(cell.flow.run!));
        // Its hand-out may never have gone out; a worker runs a token once.
        this.post(worker, task);
      }
    }
    for (const worker of gone) run(cell.flow.head.flowId, { kind: 'workerGone', worker, tokens: null, silentMs: null });
  }

  beat({ process, tokens, values }: Beat): void {
    const { owner, run, cells } = this.parts;
    for (const { flowId, ...value } of values) if (cells.get(flowId)) run(flowId, { kind: 'heartbeat', ...value });
    for (const { token, flowId } of this.handedOut.heard(process, tokens, owner.clock.monotonic())) {
      if (!this.parts.sendCallAgain(token)) this.sendAgain(process, token, flowId);
    }
  }

  /** Whether calls of the flow wait for a worker, so that it must stay in memory. */
  holds(flowId: string): boolean {
    return this.pool.hasFlow(flowId);
  }

  close(): void {
    this.unsent.dropAll();
    this.limited.close();
  }

  /** What waits on each task queue. */
  get queues(): QueueLength[] {
    return [...this.pool.byQueue(({ flow, step }) => this.lacking.isLacked(flow, step))].map(([taskQueue, length]) => ({
      taskQueue,
      ...length,
    }));
  }

  private take({ call, process, plan }: Taker, claim?: string): void {
    const { owner, epoch, run } = this.parts;
    const token = `${owner.shard}.${epoch}.${++this.made}`;
    this.limited.begin(token, call);
    if (claim !== undefined) this.claims.set(claim, token);
    run(call.flowId, {
      kind: 'claim',
      runId: call.runId,
      execution: call.execution,
      issue: call.issue,
      worker: process,
      plan: plan.fingerprint,
      token,
    });
  }

  private holdBack(call: ReadyCall, claim: Claim): void {
    this.refuse(claim, 'lacking');
    if (!this.pool.has(call) || this.heldBack.isHeld(call)) return;
    this.parts.outlet.withdraw(issueId(call));
    this.limited.leave(call);
    this.heldBack.hold(call, this.lacking.hasTaker(call.flow, call.step), () => this.offer(call));
  }

  private offerWhenSaved(call: ReadyCall): void {
    if (!this.pool.has(call)) return;
    const { cells, pipeline } = this.parts;
    const cell = cells.get(call.flowId);
    const durability = cell?.flow.run?.executions.get(call.execution)?.call?.durability;
    // Of ASYNC calls the hint is part of the hand-out, which may go before the write (P3).
    const saved = durability === 'ASYNC' ? (cell?.syncResultIn ?? 0) : (cell?.changedIn ?? 0);
    pipeline.whenDurable(saved, () => this.offer(call));
  }

  private offer(call: ReadyCall): void {
    if (!this.pool.has(call)) {
      this.limited.leave(call);
      return this.heldBack.remove(call);
    }
    if (this.heldBack.isHeld(call) || !this.limited.mayOffer(call)) return;
    this.parts.outlet.offer(hintOf(call, this.parts.owner.shard));
  }

  private withdraw(call: ReadyCall): void {
    this.heldBack.remove(call);
    this.limited.leave(call);
    this.parts.outlet.withdraw(issueId(call));
  }

  private post(worker: string, task: Task): void {
    const claim = this.claims.claimOf(task.token);
    const { outlet, owner } = this.parts;
    outlet.post(worker, { kind: 'handOut', shard: owner.shard, task, ...(claim !== undefined && { claim }) });
  }

  private sendAgain(process: string, token: string, flowId: string): void {
    const { cells, plans, pipeline } = this.parts;
    const cell = cells.get(flowId);
    const run = cell?.flow.run;
    if (!cell || !run) return;
    for (const id of run.running) {
      const execution = run.executions.get(id)!;
      if (execution.call!.token !== token) continue;
      const task = taskOf(run, plans.of(run), execution);
      const durable = execution.call!.durability === 'ASYNC' ? cell.syncResultIn : cell.changedIn;
      pipeline.whenDurable(durable, () => this.post(process, task));
    }
  }

  /** Fails the attempts of workers that were silent for too long. */
  private fail(silences: readonly Silence[]): void {
    this.parts.later(
      silences.flatMap(({ process, silentMs, flowIds, tokens }) =>
        flowIds.map((flowId) => [flowId, { kind: 'workerGone', worker: process, tokens, silentMs }] as const),
      ),
    );
  }
}
