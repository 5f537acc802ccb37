import type { WriteBatch } from '../../ports';
import { decode, shardOf } from '../../values';
import { Cast } from './cast';
import { type Errand, stopErrand } from './client-work';
import { Disk, type DiskShard } from './disk';
import { drawSettings } from './draw-settings';
import { drawWork } from './draw-work';
import { type FaultLimits, Faults } from './faults';
import { Incidents } from './incidents';
import { checkSeen } from './model/call-events';
import type { Witness } from './model/check';
import { Durable } from './model/durable';
import { Told } from './model/told';
import { checkOutcome, describeStuck, isIdle } from './outcome-checks';
import { Random } from './random';
import type { SimulationReport, Violation } from './report';
import type { SimProcess } from './sim-process';
import { StateChecks } from './state-checks';
import { Switchboard } from './switchboard';
import { Timeline } from './timeline';
import { Traffic } from './traffic';
import { type BodyRun, Journal } from './workload/journal';
import { Programs } from './workload/program';

export interface SimulationOptions extends FaultLimits {
  readonly seed: number;
  /** Only the first so many flows. */
  readonly flows?: number;
  /** Keeps a line for everything that happens. */
  readonly logs?: boolean;
}

const minute = 60_000;
/** After it was healed everything that can end has ended by then. */
const settleMs = 100 * minute;
const quietMs = minute / 2;

/** One run of the whole system in virtual time. The seed decides everything; the same seed gives the same log. */
export class Simulation {
  private violation: Violation | undefined;
  private readonly log: string[] = [];
  private readonly timeline = new Timeline();
  private readonly random: Random;
  private readonly faults: Faults;
  private readonly programs = new Programs();
  private readonly errands: Errand[];
  private readonly journal: Journal;
  private readonly durable: Durable;
  private readonly told: Told;
  private readonly disk: Disk;
  private readonly board: Switchboard;
  private readonly cast: Cast;
  private readonly states: StateChecks;
  private readonly incidents: Incidents;
  private readonly traffic: Traffic;
  private readonly chaosMs: number;

  constructor(private readonly options: SimulationOptions) {
    const random = new Random(options.seed);
    this.random = random;
    this.faults = new Faults(random.fork(), options);
    this.chaosMs = random.magnitude(1_000, 2 * minute);
    this.errands = drawWork(random.fork(), this.programs, this.chaosMs, options.flows);
    const violated = (rule: string, what: string) => this.violated(rule, what);
    this.journal = new Journal({ entered: (body) => this.entered(body), violated });
    this.durable = new Durable(this.programs);
    this.told = new Told(this.durable, this.programs, this.journal, violated);
    this.disk = new Disk(
      (shard, batch, writer) => {
        this.note(writer, () => `shard ${shard.shard}: ${batch.size} records are durable`);
        this.judgeWrite(shard, batch, writer);
      },
      (shard, owner) => this.note(owner, () => `opens shard ${shard.shard}, epoch ${shard.epoch}`),
    );
    const { timeline, faults } = this;
    this.traffic = new Traffic({
      ...{ timeline, disk: this.disk, told: this.told, violated },
      holderOf: (shard) => this.holderOf(shard),
      note: (process, what) => this.note(process, what),
    });
    this.board = new Switchboard(
      timeline,
      { tellsGone: random.chance(0.5), encodes: random.chance(0.25), isInProcess: false },
      this.traffic,
    );
    const parts = {
      timeline,
      faults,
      random: random.fork(),
      uncaught: (process: SimProcess, error: unknown) => this.uncaught(error, process),
      note: (process: SimProcess, what: string) => this.note(process, () => what),
    };
    const settings = drawSettings(random.fork());
    this.cast = new Cast(
      parts,
      this.disk,
      this.board,
      settings,
      random.fork(),
      this.journal,
      this.programs,
      this.errands,
    );
    this.states = new StateChecks(this.disk, this.durable, violated);
    this.incidents = new Incidents(timeline, faults, random.fork(), this.cast, this.board, (what) =>
      this.write(() => what),
    );
  }

  async run(): Promise<SimulationReport> {
    this.cast.begin();
    this.incidents.begin(this.chaosMs / this.random.between(1, 8));
    const { timeline } = this;
    await this.until(timeline.now + this.chaosMs);
    this.faults.heal();
    this.write(() => 'healed');
    this.cast.heal();
    const settled = await this.until(timeline.now + settleMs, () => this.hasSettled());
    if (!settled) this.violated('stuck', this.describeStuck());
    this.stopIdle();
    const closed = await this.until(timeline.now + settleMs, () => this.hasClosed());
    if (!closed) this.violated('stuck', this.describeStuck());
    // Handlers that do not listen to their signals run on for a while.
    await this.until(timeline.now + 2 * minute, () => !this.journal.isRunning());
    const noise = await this.noise();
    if (noise !== undefined) this.violated('stuck', `${noise} events in half a quiet minute`);
    await this.judge();
    return this.report();
  }

  /** Something was thrown, or a promise rejected, where nobody takes it. */
  uncaught(error: unknown, process?: SimProcess): void {
    this.violated('uncaught', `${process?.name ?? 'somewhere'}: ${error instanceof Error ? error.stack : error}`);
  }

  /** Runs until that time, or until `done` says so, looked at now and then. */
  private async until(time: number, done?: () => boolean): Promise<boolean> {
    for (let step = 0; !this.violation; step++) {
      if (done && step % 32 === 0 && done()) return true;
      if (!(await this.timeline.step(time))) {
        this.timeline.now = Math.max(this.timeline.now, time);
        return done?.() ?? true;
      }
      await this.look();
    }
    return true;
  }

  private async look(): Promise<void> {
    const { shards } = this.cast.settings;
    for (const role of this.cast.engines) {
      if (role.process.isDead || !role.process.isTouched) continue;
      role.process.isTouched = false;
      for (const { runId, run } of this.states.lookInto(role)) {
        await this.states.compare(shardOf(run.head.flowId, shards), runId, run);
      }
    }
  }

  private hasSettled(): boolean {
    for (const child of this.durable.children.all()) if (this.durable.children.unsettled(child)) return false;
    const flowsAreIdle = this.programs.flowIds().every((flowId) => {
      const run = this.durable.latest(flowId);
      return run ? isIdle(run, this.timeline.now) : this.errands.every((each) => each.flowId !== flowId || each.isDone);
    });
    if (!flowsAreIdle) return false;
    return this.errands.every(({ isDone, waits, flowId }) => isDone || (waits && this.durable.latest(flowId)?.isOpen));
  }

  /** Events in half a minute in which nothing should happen, if they are too many; what wakes up late may make some once. */
  private async noise(): Promise<number | undefined> {
    const { timeline, cast } = this;
    let noise = 0;
    for (let look = 0; look < 3; look++) {
      const before = timeline.events;
      await this.until(timeline.now + quietMs);
      noise = timeline.events - before;
      const engines = cast.engines.filter(({ process }) => !process.isDead).length;
      if (noise <= 250 * engines + 50 * cast.settings.shards) return undefined;
    }
    return noise;
  }

  private hasClosed(): boolean {
    for (const child of this.durable.children.all()) if (this.durable.children.unsettled(child)) return false;
    return this.errands.every(({ isDone }) => isDone);
  }

  private judgeWrite(shard: DiskShard, batch: WriteBatch, writer: SimProcess): void {
    try {
      this.durable.take(shard, batch, this.witness(writer, shard));
    } catch (error) {
      // A history that the model cannot follow is none that the contract allows.
      this.violated('model', error instanceof Error ? `${error.message} ${error.stack}` : String(error));
    }
  }

  /** Runs that wait for what never comes are told to end. */
  private stopIdle(): void {
    for (const flowId of this.programs.flowIds()) {
      if (!this.durable.latest(flowId)?.isOpen) continue;
      const errand = stopErrand(flowId);
      this.errands.push(errand);
      this.cast.assign(errand);
    }
  }

  private async judge(): Promise<void> {
    if (this.violation) return;
    await checkOutcome(this.durable, this.told, this.states, this.cast.settings.shards, (rule, what) =>
      this.violated(rule, what),
    );
    await this.look();
  }

  /** Not where leases got lost, or a clock was set back that a holder trusts. */
  private holderOf(shard: number): string | undefined {
    const { counts } = this.faults;
    return counts.has('wallJump') || counts.has('dispatchEmptied') ? undefined : this.cast.holderOf(shard);
  }

  private witness(writer: SimProcess, shard: DiskShard): Witness {
    return {
      journal: this.journal,
      writer,
      ownerSince: shard.openedAt,
      timesAreVague: (['wallJump', 'readHangs', 'suspend'] as const).some((kind) => this.faults.counts.has(kind)),
      hasLeft: (name) => {
        const worker = this.cast.named(name)!;
        return worker.isDead || (this.cast.settings.layout === 'embedded' && worker !== writer);
      },
      lastHeard: (worker, until) => this.traffic.lastHeard(writer, shard.shard, worker, until),
      tokens: this.durable.tokens,
      children: this.durable.children,
      assign: (flowId, program) => this.programs.assign(flowId, program),
      decode,
      violated: (rule, what) => this.violated(rule, what),
    };
  }

  /** A body begins to run, seen at this moment. */
  private entered(body: BodyRun): void {
    const { task, process } = body;
    const what = `${task.flowId}: ${task.execution}.${task.method} #${task.attempt}`;
    const token = this.durable.tokens.get(task.token);
    const run = this.durable.runs.get(task.chainId)?.latest;
    const execution = run?.executions.get(task.execution);
    if (token && this.cast.named(token.worker) !== process) this.violated('X4', `${what} runs in ${process.name}`);
    if (token?.isRunning && execution?.call) {
      checkSeen(execution.call, body, what, (condition, rule, why) => {
        if (!condition) this.violated(rule, why);
        return condition;
      });
    }
  }

  private describeStuck(): string {
    const runs = this.programs.flowIds().map((flowId) => this.durable.latest(flowId));
    const open = runs
      .filter((run) => run !== undefined && !isIdle(run, this.timeline.now))
      .map((run) => describeStuck(run!));
    const errands = this.errands.filter(({ isDone }) => !isDone).map(({ name }) => name);
    const { children } = this.durable;
    const unsettled = [...children.all()]
      .map((child) => children.unsettled(child))
      .filter((each) => each !== undefined);
    return [...open, ...unsettled, ...errands.map((name) => `not done: ${name}`)].join(' | ');
  }

  private violated(rule: string, what: string): void {
    this.write(() => `VIOLATION ${rule}: ${what}`);
    this.violation ??= { rule, what };
  }

  private note(process: SimProcess, what: () => string): void {
    if (this.options.logs) this.write(() => `${process.name} ${what()}`);
  }

  private write(line: () => string): void {
    if (this.options.logs) this.log.push(`${this.timeline.elapsed} ${line()}`);
  }

  private report(): SimulationReport {
    return {
      seed: this.options.seed,
      violation: this.violation,
      events: this.timeline.events,
      faults: this.faults.counts,
      struck: this.faults.struck,
      flows: this.programs.flowIds().length,
      bodies: this.journal.bodies.length,
      historyEvents: [...this.durable.runs.values()].reduce((sum, { events }) => sum + events, 0),
      virtualMs: this.timeline.elapsed,
      log: this.log,
    };
  }
}
