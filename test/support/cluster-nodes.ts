import type { Client, FlowClass, Logger } from '../../index';
import { type ClusterClient, openClient } from '../../lib/cluster';
import { ContractNode } from './contract-node';
import type { Declared } from './declared-flows';
import { observers } from './observers';
import type { RedisServer } from './redis-server';
import { SharedClock } from './shared-clock';
import type { Processes, WorkerOptions, WorkerProcess } from './stack';
import type { TemporaryFolder } from './temporary-folder';
import { WatchedStore } from './watched-store';

let systems = 0;
const shards = 2;
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
/** An attempt whose worker is gone fails after its heartbeat timeout; this is the default. */
const heartbeatTimeoutMs = 60_000;
/** So generous that it changes nothing but the way that Steps go. */
const taskQueues = { default: { concurrency: 10_000 } };

/** An engine and workers, each in a process, over one Redis and one folder; the client is in the test's process. */
export class ClusterNodes implements Processes {
  readonly clock = new SharedClock(() => this.alive);
  readonly store = new WatchedStore(() => this.engine);
  private engine: ContractNode | undefined;
  private readonly workers = new Set<ContractNode>();
  private opened: ClusterClient | undefined;
  private readonly namespace = `contract-${++systems}`;

  constructor(
    private readonly server: RedisServer,
    private readonly folder: TemporaryFolder,
    private readonly declared: Declared,
    private readonly queues: 'redis' | 'bullmq',
    public flows: readonly FlowClass[],
  ) {}

  get client(): Client {
    return this.opened!.client;
  }

  async startEngine(): Promise<void> {
    const { common, clock, store, folder, queues } = this;
    const options = {
      ...common,
      store: `file:${folder.path}/state`,
      taskQueues: queues === 'bullmq' ? taskQueues : {},
    };
    this.engine = await ContractNode.engine(options, clock.state, store);
  }

  async openClient(): Promise<void> {
    const { common, clock, flows } = this;
    this.opened = await openClient({ ...common, flows, clock, logger: silent });
  }

  async openWorker({ flows = this.flows, settings = {} }: WorkerOptions = {}): Promise<WorkerProcess> {
    const { file, title, flows: known } = this.declared;
    const indexes = flows.map((flow) => known.indexOf(flow));
    if (indexes.includes(-1)) throw new Error(`Name all Flows of ${title} where it is declared.`);
    const { graceMs: grace = 0, ...rest } = settings;
    const own = { file, title, flows: indexes, observed: observers.statesIn(file), grace, ...rest };
    const worker = await ContractNode.worker({ ...this.common, ...own }, this.clock.state);
    this.workers.add(worker);
    return { kill: () => worker.kill(), close: () => worker.drain() };
  }

  async crashEngine(): Promise<void> {
    await this.engine?.kill();
    await this.ended();
    await this.startEngine();
  }

  /**
   * Kills engine and workers, and ends the client; with BullMQ all that is in Redis is lost too, unless it is said otherwise.
   * Gives whether a worker had, or was about to get, something in hand.
   */
  async killAll(emptied = this.queues === 'bullmq'): Promise<boolean> {
    this.opened?.close();
    await Promise.all([this.engine, ...this.workers].map((node) => node?.kill()));
    const wasBusy =
      [...this.workers].some(({ running }) => running > 0) ||
      this.store.writing > 0 ||
      (await this.underWay([...this.workers])) > 0;
    this.workers.clear();
    await this.ended();
    if (emptied) await this.empty();
    return wasBusy;
  }

  /** Lets as much time pass as an engine takes to learn that a worker is gone. */
  async missHeartbeats(): Promise<void> {
    for (let left = heartbeatTimeoutMs + 5_000; left > 0; left -= 5_000) await this.step(5_000);
  }

  async advance(ms: number): Promise<void> {
    const step = Math.max(1_000, Math.ceil(ms / 200));
    for (let left = ms; left > 0; left -= step) await this.step(Math.min(step, left));
  }

  async quiet(): Promise<void> {
    for (let i = 0; i < 20; i++) await this.round();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.store.faults = {};
    this.opened?.close();
    await Promise.all([...this.workers].map((worker) => worker.close()));
    // A write that a test holds back would hold back its closing too.
    await (this.store.writing > 0 ? this.engine?.kill() : this.engine?.close());
    this.clock.stop();
    await this.empty();
    await this.folder.remove();
  }

  private get alive(): ContractNode[] {
    return [this.engine, ...this.workers].filter((node): node is ContractNode => node?.isAlive === true);
  }

  private get common() {
    return { redis: this.server.url, namespace: this.namespace, shards };
  }

  private async step(ms: number): Promise<void> {
    await this.clock.moveAll(ms);
    await this.settle();
  }

  /** Waits until no message is on its way and nothing is being written, or a write has failed: it may do so for ever. */
  private async settle(): Promise<void> {
    const { failed } = this.store;
    const end = Date.now() + 10_000;
    do {
      await this.round();
      const messages = await this.underWay([...this.workers].filter(({ isAlive }) => isAlive));
      if (this.store.writing === 0 && messages === 0) return;
    } while (this.store.failed === failed && Date.now() < end);
  }

  /** Messages to the engine that are not durable yet, and to these workers that they have not read. */
  private async underWay(workers: readonly ContractNode[]): Promise<number> {
    const streams = [...this.ofShards('in'), ...workers.map(({ id }) => this.key(`to:${id}`))];
    const lengths = await Promise.all(streams.map((key) => this.server.redis.xlen(key)));
    return lengths.reduce((sum, length) => sum + length, 0);
  }

  private async round(): Promise<void> {
    await Promise.all([...this.alive.map((node) => node.turns()), this.server.redis.ping()]);
  }

  /** The engine was killed. Its leases end here at once, as they do in Redis when their time is over. */
  private async ended(): Promise<void> {
    this.store.writing = 0;
    await this.server.redis.del(this.key('engines'), ...this.ofShards('owner'));
  }

  private async empty(): Promise<void> {
    const { redis } = this.server;
    const keys = await redis.keys(this.key('*'));
    if (keys.length > 0) await redis.del(...keys);
  }

  private ofShards(name: string): string[] {
    return Array.from({ length: shards }, (_, shard) => this.key(`${name}:${shard}`));
  }

  private key(name: string): string {
    return `{holdfast:${this.namespace}}:${name}`;
  }
}
