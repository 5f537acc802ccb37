import type { FlowClass } from '../../lib/authoring';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine, type EngineSettings } from '../../lib/engine';
import { InversifyResolver } from '../../lib/inversify';
import type { Logger, StateStore } from '../../lib/ports';
import { Life } from '../../lib/testing/life';
import { MortalDispatch } from '../../lib/testing/mortal-dispatch';
import { Worker } from '../../lib/worker';
import { MovableClock, type ProcessClock } from './movable-clock';
import { ObservedStore } from './observed-store';
import type { Processes, WorkerOptions, WorkerProcess } from './stack';
import { type StoreKind, storeKinds } from './store-kinds';
import { turns } from './turns';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const shards = 1;

/** A worker in a process of its own, which can be lost by itself. */
export class EmbeddedWorker implements WorkerProcess {
  constructor(
    private readonly worker: Worker,
    private readonly clock: ProcessClock,
    private readonly life: Life,
  ) {}

  /** It is never heard of again, and hears nothing; its handlers run on. */
  async kill(): Promise<void> {
    this.life.end();
    this.clock.stop();
  }

  /** Drains it (X6). */
  close(): Promise<void> {
    return this.worker.close();
  }
}

/** Engine, client and workers in one process that behave as if each had one of its own, over one dispatch. */
export class EmbeddedProcesses implements Processes {
  readonly clock = new MovableClock();
  readonly dispatch = new MemoryDispatch();
  private readonly ids = idsBy(systemClock);
  private readonly workers: EmbeddedWorker[] = [];
  private engine!: Engine;
  private engineClock!: ProcessClock;
  client!: Client;

  readonly store: ObservedStore;

  constructor(
    store: StateStore,
    private readonly flows: readonly FlowClass[],
    private readonly settings: Partial<EngineSettings>,
    private readonly remove: () => Promise<void>,
  ) {
    this.store = new ObservedStore(store);
  }

  async open(): Promise<void> {
    await this.openEngine();
    const clock = this.clock;
    const common = { compiled: compile(this.flows), dispatch: this.dispatch, clock, logger: silent, shards };
    this.client = new Client({ ...common, process: this.ids.next(), ids: idsBy(clock) });
    await this.client.open();
  }

  async openWorker({ flows = this.flows, standing = true, settings }: WorkerOptions = {}): Promise<EmbeddedWorker> {
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
    const process = new EmbeddedWorker(worker, clock, life);
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
      do await turns(5);
      while (this.store.writing > 0);
    }
  }

  quiet(): Promise<void> {
    return turns(20);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.store.faults = {};
    for (const worker of this.workers) await worker.kill();
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

/** Processes over a store of this kind. */
export async function processesOver(
  kind: StoreKind,
  flows: readonly FlowClass[],
  settings: Partial<EngineSettings> = {},
): Promise<EmbeddedProcesses> {
  const { store, remove } = await kind.open();
  const processes = new EmbeddedProcesses(store, flows, settings, remove);
  await processes.open();
  return processes;
}

/** Processes over a store in memory. */
export function withProcesses(
  flows: readonly FlowClass[],
  settings?: Partial<EngineSettings>,
): Promise<EmbeddedProcesses> {
  return processesOver(storeKinds.memory, flows, settings);
}
