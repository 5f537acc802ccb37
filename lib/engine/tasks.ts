import { type Command, type HandOutEffect, type Outstanding, type ReadyEffect, taskOf } from '../core';
import type { Beat, ShardInbox } from '../dispatch';
import type { Cancel } from '../ports';
import type { Cell } from './cell';
import type { Cells } from './cells';
import { HandedOut } from './handed-out';
import type { Plans } from './plans';
import { ReadyPool } from './ready-pool';
import type { ShardOwnerParts } from './shard-owner';
import type { WritePipeline } from './write-pipeline';

/** The longest time between two looks at the workers, and the longest stretch between them that counts as real. */
const lookMs = 5_000;

export interface TaskParts {
  readonly epoch: number;
  readonly inbox: ShardInbox;
  readonly cells: Cells;
  readonly plans: Plans;
  readonly pipeline: WritePipeline;
  readonly owner: ShardOwnerParts;
  /** Decides a command in the running turn. */
  run(flowId: string, command: Command): void;
  /** Decides commands in a turn of their own. */
  later(commands: readonly (readonly [flowId: string, command: Command])[]): void;
}

/** What waits for a worker and what is in a worker's hands. */
export class Tasks {
  private readonly pool = new ReadyPool();
  private readonly handedOut: HandedOut;
  private made = 0;
  private cancelLook: Cancel | undefined;

  constructor(private readonly parts: TaskParts) {
    this.handedOut = new HandedOut(parts.owner.clock.monotonic());
  }

  ready(cell: Cell, effect: ReadyEffect): void {
    const { flowId, runId, flow } = cell.flow.run!.head;
    this.pool.add({ ...effect, flowId, runId, flow });
  }

  /** Sends a task on its way: for SYNC when its start is durable; for ASYNC at once, yet after the SYNC result before it. */
  handOut(cell: Cell, { worker, task, durability }: HandOutEffect): void {
    const { pipeline, owner } = this.parts;
    owner.workers.hold(worker, task.token);
    this.handedOut.add(worker, task, owner.clock.monotonic());
    this.lookLater();
    const post = () => owner.dispatch.post(worker, { kind: 'handOut', shard: owner.shard, task });
    if (durability === 'ASYNC') return pipeline.whenDurable(cell.syncResultIn, post);
    pipeline.whenDurable(pipeline.gathering, post);
    pipeline.hurry();
  }

  /** Watches something else that a worker has in hand. */
  watch(worker: string, token: string, flowId: string, silenceMs: number): void {
    this.handedOut.add(worker, { token, flowId, heartbeatTimeoutMs: silenceMs }, this.parts.owner.clock.monotonic());
    this.lookLater();
  }

  /** The attempt is over for this owner, whether the worker knows it or not. */
  over(token: string): void {
    this.handedOut.remove(token);
  }

  /** Gives ready calls to workers with free slots: the start is saved in the batch that gathers (the short cut). */
  give(): void {
    const { owner, cells, run, epoch } = this.parts;
    for (;;) {
      const taker = owner.workers.takerFor(this.pool);
      if (!taker) return;
      const { call, process, plan } = taker;
      // A flow that left memory meanwhile had nothing ready any more.
      if (!cells.get(call.flowId)) continue;
      run(call.flowId, {
        kind: 'claim',
        runId: call.runId,
        execution: call.execution,
        issue: call.issue,
        worker: process,
        plan: plan.fingerprint,
        token: `${owner.shard}.${epoch}.${++this.made}`,
      });
    }
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
        this.handedOut.add(worker, task, owner.clock.monotonic());
        // Its hand-out may never have gone out; a worker runs a token once.
        owner.dispatch.post(worker, { kind: 'handOut', shard: owner.shard, task });
      }
    }
    for (const worker of gone) run(cell.flow.head.flowId, { kind: 'workerGone', worker, silentMs: null });
    this.lookLater();
  }

  beat({ process, tokens, values }: Beat): void {
    const { owner, run, cells } = this.parts;
    for (const { flowId, ...value } of values) if (cells.get(flowId)) run(flowId, { kind: 'heartbeat', ...value });
    for (const { token, flowId } of this.handedOut.heard(process, tokens, owner.clock.monotonic())) {
      this.sendAgain(process, token, flowId);
    }
  }

  close(): void {
    this.cancelLook?.();
    this.cancelLook = undefined;
  }

  private sendAgain(process: string, token: string, flowId: string): void {
    const { owner, cells, plans, pipeline } = this.parts;
    const cell = cells.get(flowId);
    const run = cell?.flow.run;
    if (!cell || !run) return;
    for (const id of run.running) {
      const execution = run.executions.get(id)!;
      if (execution.call!.token !== token) continue;
      const task = taskOf(run, plans.get(run.head.plan), execution);
      const durable = execution.call!.durability === 'ASYNC' ? cell.syncResultIn : cell.changedIn;
      pipeline.whenDurable(durable, () => owner.dispatch.post(process, { kind: 'handOut', shard: owner.shard, task }));
    }
  }

  private lookLater(): void {
    const shortest = this.handedOut.shortestTimeoutMs();
    if (shortest === null || this.cancelLook) return;
    const delay = Math.min(lookMs, Math.max(50, shortest / 4));
    this.cancelLook = this.parts.owner.clock.after(delay, () => {
      this.cancelLook = undefined;
      this.look();
      this.lookLater();
    });
  }

  /** Fails the attempts of workers that are gone or were silent for too long. */
  private look(): void {
    const { owner, inbox, later } = this.parts;
    // While nothing can be heard, silence says nothing: the time does not count (X2).
    const still = inbox.isHeard ? 2 * lookMs : 0;
    const silences = this.handedOut.overdue(owner.clock.monotonic(), still);
    later(
      silences.flatMap(({ process, silentMs, flowIds }) =>
        flowIds.map((flowId) => [flowId, { kind: 'workerGone', worker: process, silentMs }] as const),
      ),
    );
  }
}
