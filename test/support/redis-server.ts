import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';
import { eventually } from './eventually';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder';

export interface RedisServerOptions {
  /** [a free one] */
  readonly port?: number;
  /** Arguments on top, e.g. `['--maxmemory', '20mb']`. */
  readonly args?: readonly string[];
  /** A file to start a Sentinel by, which writes to it. */
  readonly configuration?: string;
}

const running = new Set<ChildProcess>();

// Also when a test run breaks off.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A Redis of its own for a test, without persistence: it forgets everything when it is killed. */
export class RedisServer {
  private process: ChildProcess | undefined;
  private admin: Redis | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: TemporaryFolder,
    private readonly args: readonly string[],
    private readonly configuration: string | undefined,
  ) {}

  static async start({ port, args = [], configuration }: RedisServerOptions = {}): Promise<RedisServer> {
    const server = new RedisServer(port ?? (await freePort()), await temporaryFolder(), args, configuration);
    await server.run();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** For looking at and breaking what the system under test does. */
  get redis(): Redis {
    this.admin ??= new Redis(this.url, { retryStrategy: () => 50 }).on('error', () => {});
    return this.admin;
  }

  /** Starts it, on the same port after a kill. */
  async run(): Promise<void> {
    const { path } = this.folder;
    const own = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', path];
    const sentinel = this.configuration ? [this.configuration, '--sentinel'] : undefined;
    const policy = this.args.includes('--maxmemory-policy') ? [] : ['--maxmemory-policy', 'noeviction'];
    const all = sentinel ? [...sentinel, ...own.slice(0, 4)] : [...own, ...policy, ...this.args];
    this.process = spawn(binary(), all, { stdio: 'ignore' });
    running.add(this.process);
    await eventually(() => this.redis.ping(), 10_000);
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.process?.kill(name);
  }

  /** Ends it without notice; all data is gone. */
  async kill(): Promise<void> {
    const { process } = this;
    if (!process || process.exitCode !== null || process.signalCode !== null) return;
    const gone = new Promise((resolve) => process.once('exit', resolve));
    process.kill('SIGKILL');
    await gone;
    running.delete(process);
  }

  async stop(): Promise<void> {
    this.admin?.disconnect();
    await this.kill();
    await this.folder.remove();
  }
}

export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

let found: string | undefined;

/** The binary of this machine; Debian's package where there is none. */
function binary(): string {
  found ??= which() ?? install();
  return found;
}

function which(): string | undefined {
  try {
    return execFileSync('which', ['redis-server'], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

function install(): string {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'ignore' });
    execFileSync('apt-get', ['install', '-y', '-qq', 'redis-server'], { stdio: 'ignore', env: environment });
  } catch (cause) {
    throw new Error('These tests need redis-server 6.2 or newer; it is not here and cannot be installed.', { cause });
  }
  return which() ?? 'redis-server';
}
