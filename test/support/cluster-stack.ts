import { type Client, compile, type FlowClass } from '../../index';
import type { EngineSettings } from '../../lib/engine';
import { ClusterNodes } from './cluster-nodes';
import type { Writes } from './contract-node';
import type { Declared } from './declared-flows';
import { RedisServer } from './redis-server';
import { type CrashOptions, OpenedSystems, type Processes, type System, type SystemOptions } from './stack';
import { temporaryFolder } from './temporary-folder';

let server: Promise<RedisServer> | undefined;

/** Engine and worker as processes of their own over one Redis and SlateDB in a folder; the client is in the test's. */
export class ClusterStack extends OpenedSystems {
  readonly name: string;
  readonly isCluster = true;

  constructor(
    private readonly queues: 'redis' | 'bullmq',
    private readonly declared: Declared,
  ) {
    super();
    this.name = `SlateDB and ${queues === 'redis' ? 'Redis Streams' : 'BullMQ'} in separate processes`;
  }

  static async stopServer(): Promise<void> {
    await (await server)?.stop();
    server = undefined;
  }

  protected async make(options: SystemOptions): Promise<System> {
    const system = new ClusterSystem(await this.nodes(options.flows), options);
    try {
      await system.start();
      return system;
    } catch (error) {
      await system.close();
      throw error;
    }
  }

  async processes(flows: readonly FlowClass[], settings?: Partial<EngineSettings>): Promise<Processes> {
    if (settings) throw new Error('Engines of a cluster have no such settings.');
    const nodes = await this.nodes(flows);
    await nodes.startEngine();
    await nodes.openClient();
    return nodes;
  }

  private async nodes(flows: readonly FlowClass[]): Promise<ClusterNodes> {
    server ??= RedisServer.start();
    return new ClusterNodes(await server, await temporaryFolder(), this.declared, this.queues, flows);
  }
}

/** An engine and a worker that live and die together. */
class ClusterSystem implements System {
  constructor(
    private readonly nodes: ClusterNodes,
    private options: SystemOptions,
  ) {}

  async start(): Promise<void> {
    const { slots, flows } = this.options;
    compile(flows);
    this.nodes.flows = flows;
    await this.nodes.startEngine();
    if (slots !== 0) await this.nodes.openWorker({ settings: { ...(slots !== undefined && { slots }) } });
    await this.nodes.openClient();
  }

  get client(): Client {
    return this.nodes.client;
  }

  get clock() {
    return this.nodes.clock;
  }

  get store() {
    return this.nodes.store;
  }

  get stats(): Writes {
    return this.nodes.store.stats;
  }

  async crash({ emptied, ...options }: CrashOptions = {}): Promise<void> {
    this.options = { ...this.options, ...options };
    const wasBusy = await this.nodes.killAll(emptied);
    await this.start();
    if (wasBusy) await this.nodes.missHeartbeats();
  }

  advance(ms: number): Promise<void> {
    return this.nodes.advance(ms);
  }

  quiet(): Promise<void> {
    return this.nodes.quiet();
  }

  close(): Promise<void> {
    return this.nodes[Symbol.asyncDispose]();
  }
}
