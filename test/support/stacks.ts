import { type Client, Holdfast, type HoldfastOptions, type Logger } from '../../index';
import type { Clock, FlowIndex, StateStore } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { openStore } from '../../lib/store/open-store';
import { MovableClock, type ProcessClock } from './movable-clock';
import { ObservedStore } from './observed-store';
import { temporaryFolder } from './temporary-folder';

export interface SystemOptions {
  readonly flows: HoldfastOptions['flows'];
  /** Steps that run at a time; with 0 for both, a system without a worker. */
  readonly slots?: number;
  readonly callSlots?: number;
  /** Outlives crashes. */
  readonly index?: FlowIndex;
}

/** Engine, worker and client of a test, wherever they run. */
export interface System {
  readonly client: Client;
  readonly clock: MovableClock;
  readonly store: ObservedStore;
  readonly stats: { readonly writes: number; readonly records: number; readonly bytes: number };
  /**
   * Drops engine and worker without saving anything, and opens them again on the same store. Handlers of the lost worker run
   * on, as those of a process that nobody hears any more.
   */
  crash(options?: Partial<SystemOptions>): Promise<void>;
  /** Lets time pass, in small steps, each of which the system has taken notice of. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** One way to run Holdfast, on which every contract test runs. */
export interface Stack {
  readonly name: string;
  /** A system of one test's own, closed after it. */
  open(options: SystemOptions): Promise<System>;
  /** One system for the tests of a `describe`, opened before the first and closed after the last of them. */
  shared(options: SystemOptions): System;
}

export interface StoreKind {
  readonly name: string;
  open(): Promise<{ readonly store: StateStore; remove(): Promise<void> }>;
}

export const storeKinds: readonly StoreKind[] = [
  { name: 'memory', open: async () => ({ store: new MemoryStateStore(), remove: async () => {} }) },
  { name: 'SlateDB in a folder', open: () => inFolder('file') },
  { name: 'LMDB in a folder', open: () => inFolder('lmdb') },
];

async function inFolder(scheme: string) {
  const folder = await temporaryFolder();
  return { store: await openStore(`${scheme}:${folder.path}/state`), remove: folder.remove };
}

/** Declares the same tests for every stack. */
export function describeOnEveryStack(title: string, tests: (stack: Stack) => void): void {
  for (const kind of storeKinds) {
    describe(`${title} (${kind.name})`, () => {
      const stack = new EmbeddedStack(kind);
      afterEach(() => stack.closeOpened());
      tests(stack);
    });
  }
}

class EmbeddedStack implements Stack {
  readonly name: string;
  private opened: System[] = [];

  constructor(private readonly kind: StoreKind) {
    this.name = kind.name;
  }

  async open(options: SystemOptions): Promise<System> {
    const system = await this.make(options);
    this.opened.push(system);
    return system;
  }

  async closeOpened(): Promise<void> {
    for (const system of this.opened.splice(0)) await system.close();
  }

  private async make(options: SystemOptions): Promise<System> {
    const { store, remove } = await this.kind.open();
    const system = new EmbeddedSystem(new ObservedStore(store), remove, options);
    try {
      await system.start();
      return system;
    } catch (error) {
      await system.discard();
      throw error;
    }
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

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

class EmbeddedSystem implements System {
  readonly clock = new MovableClock();
  private holdfast!: Holdfast;
  private processClock!: ProcessClock;

  constructor(
    readonly store: ObservedStore,
    private readonly remove: () => Promise<void>,
    private options: SystemOptions,
  ) {}

  async start(): Promise<void> {
    this.processClock = this.clock.forProcess();
    const clock: Clock = this.processClock;
    const store = this.store.forProcess();
    this.holdfast = await Holdfast.open({ ...this.options, store, clock, logger: silent, grace: 0 });
  }

  get client(): Client {
    return this.holdfast.client;
  }

  get stats(): Holdfast['stats'] {
    return this.holdfast.stats;
  }

  async crash(options: Partial<SystemOptions> = {}): Promise<void> {
    this.options = { ...this.options, ...options };
    this.holdfast.client.close();
    this.processClock.stop();
    await this.store.crash();
    await this.start();
  }

  async advance(ms: number): Promise<void> {
    const step = Math.max(10_000, Math.ceil(ms / 1_000));
    for (let left = ms; left > 0; left -= step) {
      this.clock.move(Math.min(step, left));
      do await turns();
      while (this.store.writing > 0);
    }
  }

  async close(): Promise<void> {
    this.store.faults = {};
    await this.holdfast.close();
    await this.discard();
  }

  async discard(): Promise<void> {
    this.processClock.stop();
    await this.store.close();
    await this.remove();
  }
}

/** Lets everything run that needs no time. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
