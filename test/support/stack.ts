import type { Client, FlowClass, HoldfastOptions } from '../../index';
import type { EngineSettings } from '../../lib/engine';
import type { FlowIndex, WriteBatch } from '../../lib/ports';
import type { WorkerSettings } from '../../lib/worker';
import type { MovableClock } from './movable-clock';
import type { StoreFaults } from './observed-store';

export interface SystemOptions {
  readonly flows: HoldfastOptions['flows'];
  /** Steps that run at a time; with 0 for both, a system without a worker. */
  readonly slots?: number;
  readonly callSlots?: number;
  /** Outlives crashes. */
  readonly index?: FlowIndex;
}

/** The store of a system, wherever it is written. */
export interface SystemStore {
  faults: StoreFaults;
  /** Writes that have begun and not ended. */
  readonly writing: number;
  keepBatches: boolean;
  /** Every batch that was written, oldest first; only while `keepBatches` is set. */
  readonly batches: WriteBatch[];
  /** How many records there are whose key begins so. */
  count(prefix: string): Promise<number>;
}

export interface CrashOptions extends Partial<SystemOptions> {
  /** Whether Redis loses everything too; in one process that is always so [as the stack has it]. */
  readonly emptied?: boolean;
}

/** Engine, worker and client of a test, wherever they run. */
export interface System {
  readonly client: Client;
  readonly clock: MovableClock;
  readonly store: SystemStore;
  readonly stats: { readonly writes: number; readonly records: number; readonly bytes: number };
  /**
   * Drops engine and worker without saving anything, and opens them again on the same store. Where they are processes they
   * are killed; else handlers of the lost worker run on, as those of a process that nobody hears any more.
   */
  crash(options?: CrashOptions): Promise<void>;
  /** Lets time pass, in small steps, each of which the system has taken notice of. */
  advance(ms: number): Promise<void>;
  /** Waits as long as a message takes that is on its way, to see that none is. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export interface WorkerOptions {
  /** Other Flows than the client's, such as those of a newer version. */
  readonly flows?: readonly FlowClass[];
  /** Whether it is given its work, where engine and worker share a process; else it looks for it [true]. */
  readonly standing?: boolean;
  readonly settings?: Partial<Pick<WorkerSettings, 'slots' | 'callSlots' | 'graceMs'>>;
}

/** A worker that can be lost by itself. */
export interface WorkerProcess {
  /** It is never heard of again. */
  kill(): Promise<void>;
  /** Drains it (X6). */
  close(): Promise<void>;
}

/** Engine, client and workers that come and go by themselves. */
export interface Processes extends AsyncDisposable {
  readonly client: Client;
  readonly clock: MovableClock;
  readonly store: SystemStore;
  openWorker(options?: WorkerOptions): Promise<WorkerProcess>;
  /** The engine is lost without saving anything, and another takes over; workers and clients live on. */
  crashEngine(): Promise<void>;
  /** Lets time pass, in small steps, each of which everybody has taken notice of. */
  advance(ms: number): Promise<void>;
  /** Waits as long as a message takes that is on its way, to see that none is. */
  quiet(): Promise<void>;
}

/** One way to run Holdfast, on which every contract test runs. */
export interface Stack {
  readonly name: string;
  /** Whether engine and worker are processes of their own, over Redis. */
  readonly isCluster: boolean;
  /** A system of one test's own, closed after it. */
  open(options: SystemOptions): Promise<System>;
  /** One system for the tests of a `describe`, opened before the first and closed after the last of them. */
  shared(options: SystemOptions): System;
  /** Engine and client, and no worker yet. Settings of the engine are for one process only. */
  processes(flows: readonly FlowClass[], settings?: Partial<EngineSettings>): Promise<Processes>;
}

/** What stacks have in common: systems that end with the tests that use them. */
export abstract class OpenedSystems implements Stack {
  abstract readonly name: string;
  abstract readonly isCluster: boolean;
  private opened: System[] = [];

  protected abstract make(options: SystemOptions): Promise<System>;

  abstract processes(flows: readonly FlowClass[], settings?: Partial<EngineSettings>): Promise<Processes>;

  async open(options: SystemOptions): Promise<System> {
    const system = await this.make(options);
    this.opened.push(system);
    return system;
  }

  async closeOpened(): Promise<void> {
    for (const system of this.opened.splice(0)) await system.close();
  }

  shared(options: SystemOptions): System {
    let system: System | undefined;
    before(async () => {
      system = await this.make(options);
    });
    after(() => system?.close());
    return new Proxy({} as System, {
      get: (_, name) => {
        if (!system) throw new Error('The system is open only while tests run.');
        const value = Reflect.get(system, name, system);
        return typeof value === 'function' ? value.bind(system) : value;
      },
    });
  }
}
