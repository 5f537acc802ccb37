import type { Container } from 'inversify';
import type { FlowClass } from '../authoring';
import { Client, warnOfLacks } from '../client';
import { compile } from '../compiler';
import { InversifyResolver } from '../inversify';
import type { HandlerResolver } from '../ports';
import { type Duration, durationMs } from '../values/duration';
import { Worker } from '../worker';
import { type ClusterOptions, type Connected, closeOnSignals, connect } from './connect';

export interface WorkerOptions extends ClusterOptions {
  /** Every Flow this process runs. */
  readonly flows: readonly FlowClass[];
  /** Makes the Steps and Flows [a container of its own]. */
  readonly container?: Container;
  /** In place of `container`, for another DI framework. */
  readonly resolver?: HandlerResolver;
  /** Steps that run at a time [100] (X13). */
  readonly slots?: number;
  /** RPCs and Queries that run at a time, besides Steps [50] (X13). */
  readonly callSlots?: number;
  /** Task queues it serves [all] (T1). */
  readonly taskQueues?: readonly string[];
  /** How long `close` waits for running Steps [30 s] (X6). */
  readonly grace?: Duration;
}

/** A worker process: runs the methods of Flows and Steps, and knows of their state what a task carries. */
export class ClusterWorker {
  private readonly ignoreSignals: () => void;
  private closed: Promise<void> | undefined;

  private constructor(
    private readonly worker: Worker,
    /** Looks at open runs when the worker starts. */
    private readonly checking: Client,
    private readonly connected: Connected,
    signals: boolean | undefined,
  ) {
    this.ignoreSignals = closeOnSignals(() => this.close(), signals);
  }

  static async open(options: WorkerOptions): Promise<ClusterWorker> {
    const compiled = compile(options.flows);
    const resolver = options.resolver ?? new InversifyResolver(options.container);
    const connected = await connect(options);
    const { slots, callSlots, taskQueues, grace } = options;
    const settings = {
      ...(slots !== undefined && { slots }),
      ...(callSlots !== undefined && { callSlots }),
      ...(taskQueues !== undefined && { taskQueues }),
      ...(grace !== undefined && { graceMs: durationMs(grace, 'grace') }),
    };
    const worker = new Worker({ ...connected, compiled, resolver, standing: false, settings });
    try {
      await worker.open();
      const client = new Client({ ...connected, process: `${connected.process}-check`, compiled });
      client
        .open()
        .then(() => warnOfLacks(client, connected.logger))
        .catch(() => {})
        .finally(() => client.close());
      return new ClusterWorker(worker, client, connected, options.signals);
    } catch (error) {
      connected.dispatch.close();
      throw error;
    }
  }

  /** Names this worker in histories and logs. */
  get id(): string {
    return this.connected.process;
  }

  /** Whether it hears what is sent to it; red while Redis is away. */
  get isHealthy(): boolean {
    return this.closed === undefined && this.connected.dispatch.isHeard;
  }

  /**
   * Takes no more tasks and waits for those that run, at most for the grace; then aborts them and gives back what does not
   * end, without using up an attempt (X6). A second call ends the grace at once.
   */
  close(): Promise<void> {
    this.checking.close();
    const drained = this.worker.close();
    this.closed ??= drained.then(() => {
      this.ignoreSignals();
      this.connected.dispatch.close();
    });
    return this.closed;
  }
}

/** Opens a worker. Throws `CompileError`, `REDIS_UNAVAILABLE`, `REDIS_UNSUITABLE`, `INVALID_ARGUMENT`, `STORE_LAYOUT`. */
export function openWorker(options: WorkerOptions): Promise<ClusterWorker> {
  return ClusterWorker.open(options);
}
