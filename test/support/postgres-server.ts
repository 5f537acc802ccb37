import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { Client } from 'pg';
import { eventually } from './eventually';
import { freePort } from './redis-server';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder';

/** A PostgreSQL of its own for a test, on a free port, with all its data in a folder that goes with it. */
export class PostgresServer {
  private process: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: TemporaryFolder,
    private readonly owner: Owner,
  ) {}

  static async start(): Promise<PostgresServer> {
    const folder = await temporaryFolder();
    const owner = ownerOf(folder.path);
    const server = new PostgresServer(await freePort(), folder, owner);
    const initdb = ['-D', server.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    execFileSync(binary('initdb'), initdb, { stdio: 'ignore', ...owner });
    await server.run();
    return server;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Starts it, on the same port and data after a kill. */
  async run(): Promise<void> {
    const options = ['fsync=off', 'full_page_writes=off', 'listen_addresses=127.0.0.1', 'max_connections=50'];
    const args = ['-D', this.data, '-p', `${this.port}`, '-k', this.data];
    const child = spawn(binary('postgres'), [...args, ...options.flatMap((each) => ['-c', each])], {
      stdio: 'ignore',
      ...this.owner,
    });
    this.process = child;
    process.once('exit', () => child.kill('SIGKILL'));
    await eventually(() => this.query('SELECT 1'), 20_000);
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.process?.kill(name);
  }

  /** Ends it at once, connections and all; what was committed is there when it runs again. */
  async kill(): Promise<void> {
    const { process } = this;
    if (!process || process.exitCode !== null || process.signalCode !== null) return;
    const gone = new Promise((resolve) => process.once('exit', resolve));
    process.kill('SIGQUIT');
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    await this.folder.remove();
  }

  private get data(): string {
    return `${this.folder.path}/data`;
  }
}

interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/** PostgreSQL refuses to run as root: then the user of its package does, to whom the folder is given. */
function ownerOf(folder: string): Owner {
  if (process.getuid?.() !== 0) return {};
  binary('initdb');
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const owner = { uid: idOf('-u'), gid: idOf('-g') };
  chownSync(folder, owner.uid, owner.gid);
  return owner;
}

/** A program of this machine's newest PostgreSQL; Debian's package where there is none. */
function binary(name: string): string {
  const found = find(name);
  if (found) return found;
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'ignore' });
    execFileSync('apt-get', ['install', '-y', '-qq', 'postgresql'], { stdio: 'ignore', env: environment });
  } catch (cause) {
    throw new Error('These tests need PostgreSQL 12 or newer; it is not here and cannot be installed.', { cause });
  }
  return find(name) ?? name;
}

function find(name: string): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const paths = versions.map((version) => `${root}/${version}/bin/${name}`);
  const onPath = (process.env.PATH ?? '').split(':').map((folder) => `${folder}/${name}`);
  return [...paths, ...onPath].find((path) => existsSync(path));
}
