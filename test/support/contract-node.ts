import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { WriteBatch } from '../../lib/ports';
import type { EngineNode, WorkerNode } from './contract-process';
import type { ClockState } from './movable-clock';
import { type Observation, observers } from './observers';
import { Peer } from './peer';

export interface Writes {
  readonly writes: number;
  readonly records: number;
  readonly bytes: number;
}

/** What a node asks the test for. */
export interface NodeHooks {
  beforeWrite(batch: WriteBatch): void | Promise<void>;
  afterWrite(batch: WriteBatch, stats: Writes): void | Promise<void>;
  writeFailed(): void;
}

const alive = new Set<ContractNode>();
const workers = new Set<ContractNode>();
const idle: ContractNode[] = [];
/** Processes that are kept ready, so that nobody waits for one to start. */
const spares = 2;
let ended = false;

/** An engine or worker in a process of its own. */
export class ContractNode {
  /** As the engine or worker is named. */
  id = '';
  /** Handlers that run. */
  running = 0;
  /** Whether it has its code, and can begin at once. */
  isLoaded = false;
  private hooks: NodeHooks | undefined;
  private readonly child: ChildProcess;
  private readonly peer: Peer;
  private readonly gone: Promise<unknown>;
  private ready: () => void = () => {};
  private readonly started = new Promise<void>((resolve) => {
    this.ready = () => {
      this.isLoaded = true;
      resolve();
    };
  });

  private constructor() {
    this.child = fork(join(__dirname, 'contract-process.ts'), {
      execArgv: ['--enable-source-maps', '-r', join(__dirname, 'register.cjs')],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    // What it said before its end comes before the channel is closed.
    this.gone = Promise.all(
      ['exit', 'disconnect'].map((event) => new Promise((resolve) => this.child.once(event, resolve))),
    );
    this.peer = new Peer(this.child, {
      ready: () => this.ready(),
      beforeWrite: (batch: WriteBatch) => this.hooks?.beforeWrite(batch),
      afterWrite: (batch: WriteBatch, stats: Writes) => this.hooks?.afterWrite(batch, stats),
      writeFailed: () => this.hooks?.writeFailed(),
      running: (count: number) => {
        this.running = count;
      },
      observed: (observation: Observation) => {
        observers.take(observation);
        tellWorkers(observation, this);
      },
      seen: () => {},
    });
    alive.add(this);
    // Whatever happens, the tests end without it, and it ends with them.
    this.child.unref();
    this.child.channel?.unref();
    this.child.once('exit', () => this.end());
    this.child.on('error', () => {});
  }

  static async engine(options: EngineNode, clock: ClockState, hooks: NodeHooks): Promise<ContractNode> {
    const node = take();
    node.hooks = hooks;
    return node.open('openEngine', options, clock);
  }

  static async worker(options: WorkerNode, clock: ClockState): Promise<ContractNode> {
    const node = take();
    workers.add(node);
    return node.open('openWorker', options, clock);
  }

  static async endAll(): Promise<void> {
    ended = true;
    await Promise.all([...alive].map((node) => node.kill()));
  }

  static make(): ContractNode {
    observers.onObservation = (observation) => tellWorkers(observation);
    return new ContractNode();
  }

  private async open(how: string, options: unknown, clock: ClockState): Promise<ContractNode> {
    await this.started;
    try {
      this.id = await this.peer.call<string>(how, options, clock);
    } catch (error) {
      await this.kill();
      throw error;
    }
    return this;
  }

  get isAlive(): boolean {
    return alive.has(this);
  }

  move(ms: number): Promise<void> {
    return this.peer.call('move', ms);
  }

  setWall(byMs: number): void {
    this.peer.tell('setWall', byMs);
  }

  moveSoon(ms: number): void {
    this.peer.tell('move', ms);
  }

  turns(): Promise<void> {
    return this.peer.call('turns');
  }

  count(prefix: string): Promise<number> {
    return this.peer.call('count', prefix);
  }

  observed(observation: Observation): void {
    this.peer.tell('observed', observation);
  }

  /** Closes in good order what runs here; the process is there for the next. */
  async close(): Promise<void> {
    if (!this.isAlive) return;
    // Its handlers would run on beside those of the next.
    if (this.running > 0) return this.kill();
    await this.peer.call('close');
    this.hooks = undefined;
    workers.delete(this);
    idle.push(this);
  }

  /** Drains what runs here, and ends the process. */
  async drain(): Promise<void> {
    await this.peer.call('close');
    await this.kill();
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.gone;
  }

  private end(): void {
    alive.delete(this);
    workers.delete(this);
    const at = idle.indexOf(this);
    if (at >= 0) idle.splice(at, 1);
    this.peer.end();
  }
}

function tellWorkers(observation: Observation, except?: ContractNode): void {
  for (const worker of workers) if (worker !== except) worker.observed(observation);
}

function take(): ContractNode {
  // Loading the code takes a while.
  const loaded = idle.findIndex((node) => node.isLoaded);
  const node = idle.splice(Math.max(loaded, 0), 1)[0] ?? ContractNode.make();
  while (!ended && idle.length < spares) idle.push(ContractNode.make());
  return node;
}
