import { type Client, type FlowClass, Holdfast, type Logger } from '../../index';
import type { EngineSettings } from '../../lib/engine';
import type { Clock } from '../../lib/ports';
import { MovableClock, type ProcessClock } from './movable-clock';
import { ObservedStore } from './observed-store';
import { processesOver } from './processes';
import { type CrashOptions, OpenedSystems, type Processes, type System, type SystemOptions } from './stack';
import type { StoreKind } from './store-kinds';
import { turns } from './turns';

/** Engine, worker and client in the test's own process. */
export class EmbeddedStack extends OpenedSystems {
  readonly name: string;
  readonly isCluster = false;

  constructor(private readonly kind: StoreKind) {
    super();
    this.name = kind.name;
  }

  protected async make(options: SystemOptions): Promise<System> {
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

  processes(flows: readonly FlowClass[], settings?: Partial<EngineSettings>): Promise<Processes> {
    return processesOver(this.kind, flows, settings);
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

  async crash({ emptied: _, ...options }: CrashOptions = {}): Promise<void> {
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
      do await turns(5);
      while (this.store.writing > 0);
    }
  }

  quiet(): Promise<void> {
    return turns(20);
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
