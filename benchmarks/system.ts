import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, Holdfast, type StartOptions } from '../index';
import { openClient } from '../lib/cluster';
import type { BenchRole } from './bench-process';
import { bullProducer, type Link } from './bull-peer';
import { ChainFlow, entered, QueuedChainFlow } from './flows';
import { streamProducer } from './stream-peer';

/** What has been used since the start, over all processes of a system. */
export interface Counters {
  readonly cpuMs: number;
  readonly writes: number;
  readonly bytes: number;
}

export interface ChainOptions {
  readonly durability?: NonNullable<StartOptions['durability']>;
  /** Between two workers, so that each Step is queued. */
  readonly queued?: boolean;
}

/** Something that runs chains of steps that do nothing. */
export interface System {
  /** Resolves when the last step has ended, as the caller hears of it. */
  chain(id: string, steps: number, options?: ChainOptions): Promise<void>;
  counters(): Promise<Counters>;
  /** When steps were entered since the last asking, in order. */
  entered(): Promise<number[]>;
  close(): Promise<void>;
}

const shards = 4;

/** Engine, worker and client in this process. */
export async function embedded(scheme: 'file' | 'lmdb'): Promise<System> {
  const folder = await benchFolder();
  const holdfast = await Holdfast.open({ flows: [ChainFlow], store: `${scheme}:${folder}` });
  return {
    chain: (id, steps, options) => runChain(holdfast.client, id, steps, options),
    counters: async () => ({ ...holdfast.stats, cpuMs: ownCpuMs() }),
    entered: async () => entered.splice(0),
    close: async () => {
      await holdfast.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Engine and workers in processes of their own over Redis; the client is here. */
export async function cluster(redis: string): Promise<System> {
  const folder = await benchFolder();
  const common = { redis, shards, store: `file:${folder}` };
  const processes = await Promise.all([
    BenchProcess.start({ ...common, role: 'engine' }),
    BenchProcess.start({ ...common, role: 'worker', taskQueues: ['default', 'ping'] }),
    BenchProcess.start({ ...common, role: 'worker', taskQueues: ['pong'] }),
  ]);
  const opened = await openClient({ redis, shards, flows: [ChainFlow, QueuedChainFlow] });
  return {
    chain: (id, steps, options) => runChain(opened.client, id, steps, options),
    ...overProcesses(processes),
    close: async () => {
      opened.close();
      await Promise.all(processes.map((process) => process.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A peer: its worker in a process of its own, which tells this one directly of each chain that has ended. */
export async function peer(role: 'bullmq' | 'stream', redis: string): Promise<System> {
  const process = await BenchProcess.start({ role, redis, shards: 0, store: '' });
  const producer = role === 'bullmq' ? bullProducer(redis) : streamProducer(redis);
  return {
    chain: async (id, steps) => {
      const ended = process.ended(id);
      await producer.add({ id, left: steps } satisfies Link);
      await ended;
    },
    ...overProcesses([process]),
    close: async () => {
      await producer.close();
      await process.stop();
    },
  };
}

async function runChain(client: Client, id: string, steps: number, { durability, queued }: ChainOptions = {}) {
  const options = durability ? { durability } : {};
  if (queued) {
    await client.start(QueuedChainFlow, id, steps, options);
    await client.result(QueuedChainFlow, id);
  } else {
    await client.start(ChainFlow, id, steps, options);
    await client.result(ChainFlow, id);
  }
}

function overProcesses(processes: readonly BenchProcess[]): Pick<System, 'counters' | 'entered'> {
  return {
    counters: async () => {
      const all = [{ cpuMs: ownCpuMs(), writes: 0, bytes: 0 }];
      for (const process of processes) all.push(await process.counters());
      const sum = (of: (counters: Counters) => number) => all.reduce((total, each) => total + of(each), 0);
      return {
        cpuMs: sum(({ cpuMs }) => cpuMs),
        writes: sum(({ writes }) => writes),
        bytes: sum(({ bytes }) => bytes),
      };
    },
    entered: async () => {
      const marks = await Promise.all(processes.map((process) => process.entered()));
      return marks.flat().sort((a, b) => a - b);
    },
  };
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** HOLDFAST_BENCH_DIR: where a temporary folder is in memory, it says nothing about a disk. */
export function benchFolder(): Promise<string> {
  return mkdtemp(join(process.env.HOLDFAST_BENCH_DIR ?? tmpdir(), 'holdfast-bench-'));
}

export class BenchProcess {
  private readonly waiting = new Map<string, () => void>();
  private readonly asked: ((answer: unknown) => void)[] = [];

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (message: { kind: string; id?: string; answer?: unknown }) => {
      if (message.kind === 'ended') this.waiting.get(message.id!)?.();
      if (message.kind === 'answer') this.asked.shift()?.(message.answer);
    });
  }

  static async start(role: BenchRole): Promise<BenchProcess> {
    const child = fork(join(__dirname, 'bench-process.ts'), [JSON.stringify(role)], {
      execArgv: [...process.execArgv.filter((each) => each.startsWith('--cpu-prof')), ...register],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('exit', () => reject(new Error(`the ${role.role} could not start`)));
    });
    return new BenchProcess(child);
  }

  ended(id: string): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.set(id, () => {
        this.waiting.delete(id);
        resolve();
      });
    });
  }

  counters(): Promise<Counters> {
    return this.ask('counters') as Promise<Counters>;
  }

  entered(): Promise<number[]> {
    return this.ask('entered') as Promise<number[]>;
  }

  /** Shards that an engine owns. */
  shards(): Promise<number[]> {
    return this.ask('shards') as Promise<number[]>;
  }

  async kill(): Promise<void> {
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await gone;
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGTERM');
    await gone;
  }

  private ask(what: string): Promise<unknown> {
    return new Promise((resolve) => {
      this.asked.push(resolve);
      this.child.send(what);
    });
  }
}

const register = ['-r', join(__dirname, '../test/support/register.cjs')];
