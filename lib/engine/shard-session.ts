import { type Command, decide, type Effect, type Event, outstanding, type RunState } from '../core';
import type { ShardInbox } from '../dispatch';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord, encodeRecord } from '../values';
import { Answers } from './answers';
import type { Blocked } from './blocked';
import { Calls } from './calls';
import type { Cell } from './cell';
import { Cells } from './cells';
import { checkLayout } from './check-layout';
import { Deferred } from './deferred';
import { Garbage } from './garbage';
import { IndexFeed, type IndexState } from './index-feed';
import { forgetIndex } from './index-rebuild';
import { Intake } from './intake';
import { Meter } from './meter';
import { Outlet } from './outlet';
import { Plans } from './plans';
import type { QueueLength } from './queue-state';
import { Reads } from './reads';
import { SessionClock } from './session-clock';
import { ShardClock } from './shard-clock';
import type { ShardOwnerParts } from './shard-owner';
import { blockedFlows } from './shown-blocked';
import { Tasks } from './tasks';
import { Tells } from './tells';
import { Travels } from './travels';
import { Wakes } from './wakes';
import type { Watchers } from './watchers';
import { WritePipeline } from './write-pipeline';

const messagesPerTurn = 1_000;

type OwnCommand = readonly [flowId: string, command: Command, onAnswer?: (answer: unknown) => void];

/** What a session shares with the owner that opened it. */
export interface SessionHooks {
  /** Something may be there to take. */
  wake(): void;
  /** The session is over: a write failed or its outcome is unknown, or the shard was taken. */
  failed(error: unknown): void;
}

/**
 * One tenure of a shard, from the opening of its store to the first doubt. Takes what is in the inbox, decides and applies
 * it in memory, writes what changed in one batch, and lets answers, hand-outs and all else out when that is durable; only
 * an ASYNC hand-out goes before its write (P4). After a doubt everything in here is dropped.
 */
export class ShardSession {
  private readonly plans: Plans;
  private readonly pipeline: WritePipeline;
  private readonly cells: Cells;
  private readonly wakes: Wakes;
  private readonly reads: Reads;
  private readonly tasks: Tasks;
  private readonly calls: Calls;
  private readonly garbage: Garbage;
  private readonly tells: Tells;
  private readonly deferred = new Deferred();
  private readonly outlet: Outlet;
  private readonly meter: Meter | undefined;
  private readonly intake: Intake;
  private readonly index: IndexFeed | undefined;
  /** Commands of the engine's own, for the next turn. */
  private own: OwnCommand[] = [];
  private ended = false;

  private constructor(
    private readonly store: ShardStore,
    private readonly clock: SessionClock,
    private readonly time: ShardClock,
    private readonly inbox: ShardInbox,
    private readonly watchers: Watchers,
    private readonly blocked: Blocked,
    private readonly parts: ShardOwnerParts,
    hooks: SessionHooks,
  ) {
    const origin = { shard: parts.shard, epoch: store.epoch };
    this.outlet = new Outlet(parts.dispatch, parts.lease, origin, (error) => hooks.failed(error));
    this.plans = new Plans(store);
    this.cells = new Cells(store, parts.settings.idleFlowsInMemory, (flowId, error) => blocked.met(flowId, error));
    this.wakes = new Wakes(store, clock, time, { due: () => hooks.wake(), failed: (error) => hooks.failed(error) });
    this.pipeline = new WritePipeline(store, clock, parts.settings.writeTimeoutMs, {
      complete: (batch, changed) => {
        batch.set(keys.clock, encodeRecord(time.now()));
        this.index?.complete(batch, changed);
      },
      durable: () => this.index?.landed(),
      wrote: (ms) => this.meter?.wrote(parts.shard, ms),
      mayWrite: () => this.outlet.mayWrite(),
      failed: (error) => hooks.failed(error),
    });
    const { cells, plans, pipeline, outlet } = this;
    const whenDurable = (tell: () => void) => pipeline.whenDurable(pipeline.gathering, tell);
    this.meter = parts.telemetry && new Meter(parts.telemetry, whenDurable);
    const { give: answer } = new Answers(pipeline, outlet, parts.refusals, () => hooks.wake());
    const blockedOf = (run: RunState) => this.tasks.lacking.of(run);
    this.reads = new Reads(store, plans, cells, pipeline, watchers, blockedOf, answer);
    this.tells = new Tells(cells, pipeline, this.outlet, parts);
    const feedParts = { store, plans, pipeline, outlet, blocked: () => blockedFlows(cells, blocked, blockedOf) };
    this.index = parts.index && new IndexFeed({ ...feedParts, owner: parts, index: parts.index });
    this.garbage = new Garbage(store, clock, time, cells, pipeline, {
      removing: (runId) => this.index?.removed(runId),
      failed: (error) => hooks.failed(error),
    });
    const shared = {
      ...{ epoch: store.epoch, cells, plans, pipeline, outlet, owner: parts },
      run: (flowId: string, command: Command, onAnswer?: (answer: unknown) => void) =>
        this.run(flowId, command, onAnswer),
      later: (commands: readonly OwnCommand[]) => {
        this.own.push(...commands);
        if (commands.length > 0) hooks.wake();
      },
    };
    this.tasks = new Tasks({
      ...shared,
      wake: () => hooks.wake(),
      inbox,
      sendCallAgain: (token) => this.calls.sendAgain(token),
    });
    this.calls = new Calls({
      ...shared,
      watch: (worker, task) => this.tasks.watch(worker, { ...task, heartbeatTimeoutMs: task.silenceMs }),
      unwatch: (token) => this.tasks.over(token),
      answer,
    });
    const { tasks, calls, reads } = this;
    const travels = new Travels({ ...shared, store });
    this.intake = new Intake({ ...shared, tasks, calls, reads, travels, blocked, answer, index: this.index });
  }

  /** Reads what an owner needs to go on: the clock, the plans, and every run with something outstanding. */
  static async open(
    store: ShardStore,
    inbox: ShardInbox,
    watchers: Watchers,
    blocked: Blocked,
    parts: ShardOwnerParts,
    hooks: SessionHooks,
  ): Promise<ShardSession> {
    const stored = await store.get(keys.clock);
    const clock = new SessionClock(parts.clock);
    const time = new ShardClock(clock, stored ? (decodeRecord(stored) as number) : 0);
    const session = new ShardSession(store, clock, time, inbox, watchers, blocked, { ...parts, clock }, hooks);
    await session.load().catch((error) => {
      session.end();
      throw error;
    });
    return session;
  }

  /** One round: takes what has arrived or is due and sends it on its way. True if there may be more. */
  async turn(): Promise<boolean> {
    const messages = this.inbox.take(messagesPerTurn);
    const own = this.own.splice(0);
    for (const flowId of this.wakes.takeDue()) own.push([flowId, { kind: 'due' }]);
    const flowIds = messages.flatMap((message) => ('flowId' in message ? [message.flowId] : []));
    await this.cells.load(flowIds.concat(own.map(([flowId]) => flowId)));
    if (this.ended) return false;
    for (const message of messages) this.intake.take(message);
    if (messages.length > 0) {
      this.pipeline.whenDurable(this.pipeline.gathering, () => this.outlet.trim(this.inbox, messages.length));
    }
    for (const [flowId, command, onAnswer] of own) if (this.cells.get(flowId)) this.run(flowId, command, onAnswer);
    this.calls.give();
    this.tasks.give();
    this.pipeline.go();
    this.wakes.arm();
    this.cells.evict((cell) => this.mayGo(cell));
    return messages.length === messagesPerTurn;
  }

  get queues(): readonly QueueLength[] {
    return this.tasks.queues;
  }

  get indexState(): IndexState | undefined {
    return this.index?.state;
  }

  /** Writes what has gathered and ends the session. */
  async close(): Promise<void> {
    await this.pipeline.drained();
    await this.index?.close();
    this.end();
    await this.store.close();
  }

  /** Ends the session without writing anything more; nothing that was pending goes out (P5, P7). */
  end(): void {
    this.ended = true;
    this.clock.end();
    this.pipeline.stop();
    this.tasks.close();
    this.calls.close();
    this.index?.end();
    this.outlet.close();
  }

  private async load(): Promise<void> {
    await this.plans.loadAll();
    await checkLayout(this.store, this.pipeline, this.parts);
    await (this.index?.open() ?? forgetIndex(this.store, this.pipeline));
    this.garbage.expect(this.time.now());
    const active = await this.wakes.open();
    await this.cells.load([...active, ...this.watchers.flowIds()]);
    for (const flowId of active) this.takeUp(flowId);
    for (const flowId of this.watchers.flowIds()) this.reads.recheck(flowId);
  }

  private takeUp(flowId: string): void {
    const cell = this.cells.get(flowId);
    const run = cell?.flow.run;
    if (cell) this.tells.takeUp(cell);
    if (cell?.flow.head.schedule) this.run(flowId, { kind: 'due' });
    if (!run?.isOpen) return;
    this.run(flowId, { kind: 'due', all: true });
    if (!run.isOpen) return;
    this.tasks.takeUp(cell!, outstanding(run, this.plans.of(run)));
    this.wakes.set(flowId, run.due.next());
  }

  /** Decides one command and sends its effects on their way; those of a blocked flow are refused. */
  private run(flowId: string, command: Command, onAnswer: (answer: unknown) => void = () => {}): void {
    const blocked = this.blocked.get(flowId);
    if (blocked) return onAnswer(blocked);
    const cell = this.cells.get(flowId)!;
    if (this.deferred.hold(cell.flow, command, () => this.run(flowId, command, onAnswer))) return;
    // It was asked for with every event past the limit, and is done once.
    if (command.kind === 'roll' && !cell.wantsRoll) return;
    if (command.kind === 'result' && cell.isSyncResult(command)) {
      cell.syncResultIn = this.pipeline.gathering;
      this.pipeline.hurry();
    }
    const before = cell.flow.head;
    try {
      const plan = this.plans.for(command, cell.flow.run);
      const planWith = (step: string) => this.plans.having(cell.flow.run?.head.flow ?? plan.name, step);
      const { events, effects } = decide(cell.flow, plan, command, this.time.now(), planWith);
      if (events.length > 0 || cell.flow.head !== before) {
        cell.addEvents(events);
        this.note(cell, events);
        this.pipeline.change(cell);
      }
      this.wakes.set(flowId, cell.flow.nextDueAt);
      for (const effect of effects) this.route(cell, effect, onAnswer);
      if (events.length > 0) this.reads.recheck(flowId);
      this.deferred.resume(cell.flow);
    } catch (error) {
      // The state in memory may be half changed and must not be saved: the flow is parked, the shard starts afresh.
      this.blocked.met(flowId, error);
      throw error;
    }
  }

  /** Looks for what events mean to the housekeeping of the shard. */
  private note(cell: Cell, events: readonly Event[]): void {
    const { head, run } = cell.flow;
    this.garbage.note(events, run?.head.config.retentionMs ?? 0);
    this.meter?.note(run, events);
    if (cell.wantsRoll) this.own.push([head.flowId, { kind: 'roll' }]);
  }

  private route(cell: Cell, effect: Effect, onAnswer: (answer: unknown) => void): void {
    switch (effect.kind) {
      case 'answer':
        return onAnswer('error' in effect ? effect.error : effect.value);
      case 'ready':
        return this.tasks.ready(cell, effect);
      case 'handOut':
        return this.tasks.handOut(cell, effect);
      case 'tell':
        return this.tells.send(cell, effect);
      case 'callReady':
        return this.calls.becameReady(cell, effect.requestId);
      case 'callQueued':
        return this.calls.queuedAgain(cell, effect.requestId);
      case 'handOutCall':
        return this.calls.handOut(cell, effect);
      case 'callAnswer':
        return this.calls.answered(cell.flow.head.flowId, effect);
      case 'resultTaken':
        return this.tasks.tellings.tell(effect);
      case 'abort':
        this.tasks.over(effect.token);
        return this.tasks.tellings.tell(effect);
      case 'claimRefused':
        return this.tasks.refused(cell, effect);
    }
  }

  private mayGo(cell: Cell): boolean {
    const { head, run, pending } = cell.flow;
    // Open calls are in memory only.
    if (pending || cell.taps.size > 0 || (run?.calls.size ?? 0) > 0) return false;
    if (this.watchers.has(head.flowId) || this.tasks.holds(head.flowId)) return false;
    return cell.wakeAt() !== 0 && cell.changedIn <= this.pipeline.durable;
  }
}
