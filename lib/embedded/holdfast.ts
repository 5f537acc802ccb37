import type { Container } from 'inversify';
import type { FlowClass } from '../authoring';
import { Client, warnOfLacks } from '../client';
import { compile } from '../compiler';
import { MemoryDispatch } from '../dispatch/memory-dispatch';
import { Engine, type IndexState, lowerTaskQueues, type QueueState, type TaskQueueOptions } from '../engine';
import { InversifyResolver } from '../inversify';
import type { Clock, FlowIndex, HandlerResolver, Logger, StateStore, Telemetry } from '../ports';
import { type IndexAddress, openIndex } from '../search/open-index';
import { openStore } from '../store/open-store';
import { type Duration, durationMs } from '../values/duration';
import { Worker, type WorkerSettings } from '../worker';
import { consoleLogger } from './console-logger';
import { guarded } from './guarded-logger';
import { guardedTelemetry } from './guarded-telemetry';
import { systemClock } from './system-clock';
import { idsBy } from './system-ids';

export interface HoldfastOptions {
  /** Every Flow this process runs or starts. */
  readonly flows: readonly FlowClass[];
  /** `file:<folder>`, `lmdb:<folder>`, `s3://…`, `gs://…`, `az://…`, `memory:`, or a store [`file:.holdfast`]. */
  readonly store?: string | StateStore;
  /** Makes the Steps and Flows [a container of its own]. */
  readonly container?: Container;
  /** In place of `container`, for another DI framework. */
  readonly resolver?: HandlerResolver;
  /** [warnings and errors as JSON lines on standard error] */
  readonly logger?: Logger;
  /** Where counts and timings go [nowhere] (K5). */
  readonly telemetry?: Telemetry;
  /** Steps that run at a time [100] (X13). */
  readonly slots?: number;
  /** RPCs and Queries that run at a time [50] (X13). */
  readonly callSlots?: number;
  /** How long `close` waits for running Steps [30 s] (X6). */
  readonly grace?: Duration;
  /** Rate limits, concurrency and priorities of task queues [none] (T1). */
  readonly taskQueues?: Readonly<Record<string, TaskQueueOptions>>;
  /** Where runs are searched for: `sqlite:<file>`, `postgres://…`, `memory:`, options of a TypeORM DataSource, or an index [none]. */
  readonly index?: IndexAddress;
  /** Another time than the host's, for tests that move it. */
  readonly clock?: Clock;
}

/**
 * Engine, worker and client in one process: the same flows as on many machines, with nothing to install.
 *
 * `open` throws `CompileError` with everything that is wrong with the Flows, `STORE_IN_USE` if another process has the store
 * open, and `STORE_URL`, `STORE_LAYOUT`, `STORE_UNAVAILABLE`, `INDEX_URL`.
 */
export class Holdfast {
  private constructor(
    readonly client: Client,
    private readonly worker: Worker,
    private readonly engine: Engine,
    private readonly store: StateStore,
    private readonly index: FlowIndex | undefined,
  ) {}

  static async open(options: HoldfastOptions): Promise<Holdfast> {
    const compiled = compile(options.flows);
    const resolver = options.resolver ?? new InversifyResolver(options.container);
    const index = options.index === undefined ? undefined : await openIndex(options.index);
    const given = options.store ?? 'file:.holdfast';
    const store = typeof given === 'string' ? await openStore(given) : given;
    const logger = guarded(options.logger ?? consoleLogger);
    const telemetry = guardedTelemetry(options.telemetry);
    const clock = options.clock ?? systemClock;
    const ids = idsBy(clock);
    const dispatch = new MemoryDispatch();
    const common = { compiled, dispatch, clock, logger, telemetry, shards: 1 };
    const settings: Partial<WorkerSettings> = {
      ...(options.slots !== undefined && { slots: options.slots }),
      ...(options.callSlots !== undefined && { callSlots: options.callSlots }),
      ...(options.grace !== undefined && { graceMs: durationMs(options.grace, 'grace') }),
    };
    const worker = new Worker({ ...common, process: ids.next(), resolver, settings });
    const client = new Client({ ...common, process: ids.next(), ids, index });
    const taskQueues = lowerTaskQueues(options.taskQueues);
    const engine = new Engine({ store, dispatch, clock, logger, telemetry, settings: { taskQueues }, index });
    const holdfast = new Holdfast(client, worker, engine, store, index);
    try {
      await engine.open();
      await client.open();
      await worker.open();
      warnOfLacks(client, logger);
      return holdfast;
    } catch (error) {
      await holdfast.close();
      throw error;
    }
  }

  /** What waits and runs on each task queue (T3). */
  get queues(): readonly QueueState[] {
    return this.engine.queues;
  }

  /** How far the index is behind, by shard; empty without one. */
  get indexState(): readonly IndexState[] {
    return this.engine.index;
  }

  /** Writes, records and bytes since it was opened. */
  get stats(): Engine['stats'] {
    return this.engine.stats;
  }

  /** Waits for running Steps, at most for the grace, saves what is pending and lets the store go. Idempotent. */
  async close(): Promise<void> {
    await this.worker.close();
    this.client.close();
    await this.engine.close();
    await this.store.close();
    await this.index?.close();
  }
}
