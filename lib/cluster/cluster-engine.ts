import { systemClock } from '../embedded/system-clock';
import { Engine, type IndexState, lowerTaskQueues, type QueueState, type TaskQueueOptions } from '../engine';
import { HoldfastError } from '../errors';
import type { StateStore } from '../ports';
import { openStore } from '../store/open-store';
import { type Duration, durationMs } from '../values/duration';
import { type ClusterOptions, type Connected, closeOnSignals, connect, type SearchOptions } from './connect';

export interface EngineOptions extends ClusterOptions, SearchOptions {
  /** `s3://…`, `gs://…`, `az://…`, `file:<folder that all engines share>`, or a store. */
  readonly store: string | StateStore;
  /** How long a shard waits for a dead owner before another takes it over, 1 s to 60 s [10 s]. */
  readonly lease?: Duration;
  /**
   * Rate limits, concurrency and priorities of task queues, the same in every engine [none] (T1). Kept over all
   * engines and workers.
   */
  readonly taskQueues?: Readonly<Record<string, TaskQueueOptions>>;
}

/** An engine process: owns a fair share of the shards and hands it over when it closes. Runs no user code. */
export class ClusterEngine {
  private closing: Promise<void> | undefined;
  private readonly ignoreSignals: () => void;

  private constructor(
    private readonly engine: Engine,
    private readonly store: StateStore,
    private readonly connected: Connected,
    signals: boolean | undefined,
  ) {
    this.ignoreSignals = closeOnSignals(() => this.close(), signals);
  }

  static async open(options: EngineOptions): Promise<ClusterEngine> {
    const leaseMs = durationMs(options.lease ?? '10s', 'lease');
    if (leaseMs < 1_000 || leaseMs > 60_000) {
      throw new HoldfastError('INVALID_DURATION', `lease: ${leaseMs} ms is not from 1 s to 60 s.`);
    }
    const taskQueues = lowerTaskQueues(options.taskQueues);
    const given = options.store;
    const store = typeof given === 'string' ? await openStore(given, { shared: true }) : given;
    let connected: Connected | undefined;
    try {
      connected = await connect(options, taskQueues);
      const { dispatch, clock, logger, telemetry, shards, process, index } = connected;
      const settings = { shards, taskQueues, limitedByDispatch: true };
      // Leases are between hosts and Redis: they count in real time.
      const sharing = { engine: process, leases: dispatch.leases, leaseMs, clock: systemClock };
      const engine = new Engine({ store, dispatch, clock, logger, telemetry, settings, sharing, index });
      const opened = new ClusterEngine(engine, store, connected, options.signals);
      try {
        await engine.open();
        return opened;
      } catch (error) {
        await opened.close();
        throw error;
      }
    } catch (error) {
      connected?.dispatch.close();
      await store.close();
      throw error;
    }
  }

  /** Names this engine in logs. */
  get id(): string {
    return this.connected.process;
  }

  /** Shards it owns now. */
  get shards(): readonly number[] {
    return this.engine.shards;
  }

  /** What waits on each task queue in its shards (T3). */
  get queues(): readonly QueueState[] {
    return this.engine.queues;
  }

  /** How far the index is behind, by shard; empty without one. */
  get indexState(): readonly IndexState[] {
    return this.engine.index;
  }

  /** Writes, records and bytes since its shards were opened. */
  get stats(): Engine['stats'] {
    return this.engine.stats;
  }

  /** Whether it hears what is sent to it; red while Redis is away. */
  get isHealthy(): boolean {
    return this.closing === undefined && this.connected.dispatch.isHeard;
  }

  /** Saves what is pending, hands every shard over and lets the store go. Idempotent. */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    this.ignoreSignals();
    await this.engine.close();
    this.connected.dispatch.close();
    await this.store.close();
    await this.connected.index?.close();
  }
}

/**
 * Opens an engine. Throws `STORE_URL`, `STORE_LAYOUT`, `STORE_IN_USE`, `STORE_UNAVAILABLE`, `REDIS_UNAVAILABLE`,
 * `REDIS_UNSUITABLE`, `INDEX_URL`, `INVALID_ARGUMENT`, `INVALID_DURATION`.
 */
export function openEngine(options: EngineOptions): Promise<ClusterEngine> {
  return ClusterEngine.open(options);
}
