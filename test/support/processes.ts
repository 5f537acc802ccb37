import type { FlowClass } from '../../lib/authoring';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine, type EngineSettings } from '../../lib/engine';
import { InversifyResolver } from '../../lib/inversify';
import type { Logger } from '../../lib/ports';
import { Life } from '../../lib/testing/life';
import { MortalDispatch } from '../../lib/testing/mortal-dispatch';
import { Worker, type WorkerSettings } from '../../lib/worker';
import { MovableClock, type ProcessClock } from './movable-clock';
import { ObservedStore } from './observed-store';
import { type StoreKind, storeKinds } from './stacks';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const shards = 1;

export interface WorkerOptions {
  /** Other Flows than the client's, such as those of a newer version. */
  readonly flows?: readonly FlowClass[];
  readonly standing?: boolean;
  readonly settings?: Partial<WorkerSettings>;
}

/** A worker in a process of its own, which can be lost by itself. */
export class WorkerProcess {
  constructor(
    private readonly worker: Worker,
    private readonly clock: ProcessClock,
    private readonly life: Life,
    readonly name: string,
  ) {}

  /** It is never heard of again, and hears nothing; its handlers run on. */
  kill(): void {
    this.life.end();
    this.clock.stop();
  }

  /** Drains it (X6). */
  close(): Promise<void> {
    return this.worker.close();
  }
}

/** Engine, client and workers that come and go by themselves, over one dispatch. */
export class Processes {
  readonly clock = new MovableClock();
  readonly dispatch = new MemoryDispatch();
  private readonly ids = idsBy(systemClock);
  private readonly workers: WorkerProcess[] = [];
  private engine!: Engine;
  private engineClock!: ProcessClock;
  client!: Client;

  constructor(
    private readonly flows: readonly FlowClass[],
    private readonly settings: Partial<EngineSettings>,
    readonly store: ObservedStore,
    private readonly remove: () => Promise<void>,
  ) {}

  async open(): Promise<void> {
    await this.openEngine();
    const clock = this.clock;
    const common = { compiled: compile(this.flows), dispatch: this.dispatch, clock, logger: silent, shards };
    this.client = new Client({ ...common, process: this.ids.next(), ids: idsBy(clock) });
    await this.client.open();
  }

  async openWorker({ flows = this.flows, standing = true, settings }: WorkerOptions = {}): Promise<WorkerProcess> {
    const clock = this.clock.forProcess();
    const name = this.ids.next();
    const life = new Life();
    const dispatch = new MortalDispatch(this.dispatch, life);
    const worker = new Worker({
      ...{ process: name, compiled: compile(flows), resolver: new InversifyResolver(), dispatch },
      ...{ clock, logger: silent, shards, standing },
      settings: { graceMs: 0, abortMs: 0, ...settings },
    });
    await worker.open();
    const process = new WorkerProcess(worker, clock, life, name);
    this.workers.push(process);
    return process;
  }

  /** The engine is lost without saving anything, and another takes over; workers and clients live on. */
  async crashEngine(): Promise<void> {
    this.engineClock.stop();
    await this.store.crash();
    await this.openEngine();
  }

  /** Lets time pass, in small steps, each of which everybody has taken notice of. */
  async advance(ms: number): Promise<void> {
    const step = 1_000;
    for (let left = ms; left > 0; left -= step) {
      this.clock.move(Math.min(step, left));
      do for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
      while (this.store.writing > 0);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.store.faults = {};
    for (const worker of this.workers) worker.kill();
    this.client.close();
    this.engineClock.stop();
    await this.store.close();
    await this.remove();
  }

  private async openEngine(): Promise<void> {
    this.engineClock = this.clock.forProcess();
    this.engine = new Engine({
      ...{ store: this.store.forProcess(), dispatch: this.dispatch, clock: this.engineClock, logger: silent },
      settings: { shards, ...this.settings },
    });
    await this.engine.open();
  }
}

export type WithProcesses = (flows: readonly FlowClass[], settings?: Partial<EngineSettings>) => Promise<Processes>;

/** Declares the same tests for processes over every store. */
export function describeOnEveryStore(title: string, tests: (withProcesses: WithProcesses) => void): void {
  for (const kind of storeKinds) describe(`${title} (${kind.name})`, () => tests(over(kind)));
}

/** Processes over a store in memory. */
export const withProcesses: WithProcesses = over(storeKinds[0]!);

function over(kind: StoreKind): WithProcesses {
  return async (flows, settings = {}) => {
    const { store, remove } = await kind.open();
    const processes = new Processes(flows, settings, new ObservedStore(store), remove);
    await processes.open();
    return processes;
  };
}
