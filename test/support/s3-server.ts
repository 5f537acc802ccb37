import { execFile, execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './redis-server';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder';

/** A real S3-compatible server (radosgw, over memory) with the bucket `holdfast`. */
export class S3Server {
  private constructor(
    readonly port: number,
    private readonly folder: TemporaryFolder,
  ) {}

  /** Whether Debian's radosgw, ceph-mon, ceph-osd, ceph-mgr and ceph-common are installed. */
  static get isInstalled(): boolean {
    try {
      for (const name of ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph-mgr', 'ceph']) execFileSync('which', [name]);
      return true;
    } catch {
      return false;
    }
  }

  static async start(): Promise<S3Server> {
    const folder = await temporaryFolder();
    const port = await freePort();
    const server = new S3Server(port, folder);
    const ports = [port, await freePort(), await freePort()].map(String);
    try {
      await promisify(execFile)('bash', [join(__dirname, 's3-server.sh'), folder.path, ...ports], { timeout: 120_000 });
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    const run = join(this.folder.path, 'run');
    for (const name of await readdir(run).catch(() => [])) {
      if (!name.endsWith('.pid')) continue;
      const pid = Number(await readFile(join(run, name), 'utf8'));
      try {
        if (pid > 0) process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended before.
      }
    }
    await this.folder.remove();
  }
}

/** What a process needs to use a store at `url`, e.g. a proxy before the server. */
export function s3Environment(url: string): NodeJS.ProcessEnv {
  return {
    AWS_ACCESS_KEY_ID: 'AK',
    AWS_SECRET_ACCESS_KEY: 'SKSKSKSK',
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT: url,
    AWS_ALLOW_HTTP: 'true',
    AWS_VIRTUAL_HOSTED_STYLE_REQUEST: 'false',
  };
}
