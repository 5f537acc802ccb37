import { type ChildProcess, fork } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, Logger } from '../../index';
import { type ClusterClient, type EngineOptions, openClient } from '../../lib/cluster';
import { flowsOf } from './cluster-flows-of';
import type { Role } from './cluster-process';
import { eventually } from './eventually';
import { RedisServer, type RedisServerOptions } from './redis-server';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder';

export interface TestClusterOptions {
  readonly shards?: number;
  /** [1s] */
  readonly lease?: string;
  readonly redis?: RedisServerOptions;
  readonly allowEviction?: boolean;
  readonly taskQueues?: NonNullable<EngineOptions['taskQueues']>;
  /** The store of engines, with the environment it needs [SlateDB in a folder]. */
  readonly store?: { readonly url: string; readonly environment: NodeJS.ProcessEnv };
  /** Where engines and client search. */
  readonly index?: string;
  /** A module that exports the `clusterFlows` of workers and client [./cluster-flows]. */
  readonly flows?: string;
  /** Where processes find Redis, if not at the server itself. */
  via?(server: RedisServer): string;
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Engines and workers as processes of their own over one Redis and one SlateDB folder. */
export class TestCluster {
  readonly nodes = new Set<TestNode>();
  private opened: ClusterClient | undefined;

  private constructor(
    readonly server: RedisServer,
    private readonly folder: TemporaryFolder,
    private readonly options: TestClusterOptions,
  ) {}

  static async start(options: TestClusterOptions = {}): Promise<TestCluster> {
    const cluster = new TestCluster(await RedisServer.start(options.redis), await temporaryFolder(), options);
    await writeFile(cluster.effectsFile, '');
    return cluster;
  }

  get client(): Client {
    if (!this.opened) throw new Error('Call openClient first.');
    return this.opened.client;
  }

  get common() {
    const { shards = 4, allowEviction, via } = this.options;
    const redis = via ? via(this.server) : this.server.url;
    return { redis, shards, ...(allowEviction !== undefined && { allowEviction }) };
  }

  private get search() {
    const { index } = this.options;
    return index === undefined ? {} : { index };
  }

  async openClient(): Promise<Client> {
    this.opened ??= await openClient({
      ...this.common,
      ...this.search,
      flows: flowsOf(this.options.flows),
      logger: silent,
    });
    return this.opened.client;
  }

  engine(): Promise<TestNode> {
    const { lease = '1s', store, taskQueues = {} } = this.options;
    const url = store?.url ?? `file:${this.folder.path}/state`;
    return this.spawn(
      { role: 'engine', options: { ...this.common, ...this.search, store: url, lease, taskQueues } },
      store?.environment,
    );
  }

  worker(
    options: Partial<Extract<Role, { role: 'worker' }>['options']> = {},
    without: string[] = [],
    environment: NodeJS.ProcessEnv = {},
  ): Promise<TestNode> {
    return this.spawn({ role: 'worker', options: { ...this.common, ...options }, without }, environment);
  }

  /** What handlers did, in order: lines of words. */
  async effects(...begin: (string | number)[]): Promise<string[]> {
    const lines = (await readFile(this.effectsFile, 'utf8')).split('\n');
    const wanted = begin.length === 0 ? '' : `${begin.join(' ')} `;
    return lines.filter((line) => line !== '' && `${line} `.startsWith(wanted));
  }

  async stop(): Promise<void> {
    this.opened?.close();
    await Promise.all([...this.nodes].map((node) => node.kill()));
    await this.server.stop();
    await this.folder.remove();
  }

  /** Where handlers write what they do. */
  get effectsFile(): string {
    return join(this.folder.path, 'effects');
  }

  private async spawn(role: Role, environment = {}): Promise<TestNode> {
    const { flows } = this.options;
    const env = {
      ...process.env,
      ...environment,
      HOLDFAST_EFFECTS: this.effectsFile,
      ...(flows !== undefined && { HOLDFAST_FLOWS: flows }),
    };
    const child = fork(join(__dirname, 'cluster-process.ts'), [JSON.stringify(role)], {
      execArgv: ['--enable-source-maps', '-r', join(__dirname, 'register.cjs')],
      env,
      stdio: ['ignore', 'ignore', process.env.HOLDFAST_TEST_LOG ? 'inherit' : 'ignore', 'ipc'],
    });
    const node = new TestNode(child);
    this.nodes.add(node);
    await node.ready();
    return node;
  }
}

interface NodeState {
  readonly shards: readonly number[];
  readonly isHealthy: boolean;
}

export class TestNode {
  id = '';
  readonly unhandled: string[] = [];
  private state: NodeState | undefined;
  private refused: string | undefined;
  private readonly gone: Promise<number | null>;

  constructor(private readonly child: ChildProcess) {
    this.gone = new Promise((resolve) => child.once('exit', resolve));
    child.on('message', (message: { kind: string; id?: string; reason?: string; code?: string } & NodeState) => {
      if (message.kind === 'ready') this.id = message.id!;
      if (message.kind === 'state') this.state = message;
      if (message.kind === 'unhandled') this.unhandled.push(message.reason!);
      if (message.kind === 'refused') this.refused = message.code;
    });
    child.on('error', () => {});
  }

  async ready(): Promise<void> {
    await eventually(() => {
      if (this.refused) throw Object.assign(new Error(`refused: ${this.refused}`), { code: this.refused });
      return this.id !== '';
    }, 90_000);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Asks the process: the shards it owns, and whether it hears. */
  async ask(): Promise<NodeState> {
    this.state = undefined;
    this.child.send('state');
    await eventually(() => this.state !== undefined, 5_000);
    return this.state!;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    if (!this.isAlive) return;
    this.child.kill('SIGKILL');
    await this.gone;
  }

  /** SIGTERM; gives the exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.gone;
  }

  exit(): Promise<number | null> {
    return this.gone;
  }
}
