import { execFile, execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from './eventually';
import { RedisServer } from './redis-server';
import { temporaryFolder } from './temporary-folder';

/** A primary that can only be reached by TLS, as one user with a password. */
export class TlsRedis {
  static readonly username = 'holdfast';
  static readonly password = 'secret';

  private constructor(
    readonly server: RedisServer,
    readonly port: number,
    /** The certificate, which signs itself. */
    readonly certificate: string,
    private readonly remove: () => Promise<void>,
  ) {}

  static async start(port: number): Promise<TlsRedis> {
    const folder = await temporaryFolder();
    const [key, certificate] = [join(folder.path, 'key.pem'), join(folder.path, 'certificate.pem')];
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
        ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', certificate],
      ],
      { stdio: 'ignore' },
    );
    const { username, password } = TlsRedis;
    const server = await RedisServer.start({
      args: [
        ...['--tls-port', `${port}`, '--tls-cert-file', certificate, '--tls-key-file', key, '--tls-auth-clients', 'no'],
        ...['--tls-ca-cert-file', certificate, '--user', username, 'on', `>${password}`, '~*', '&*', '+@all'],
      ],
    });
    return new TlsRedis(server, port, certificate, folder.remove);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await this.remove();
  }
}

/** A primary, its replica, and Sentinels that make the replica the primary when the other is gone. */
export class SentinelRedis {
  private constructor(
    readonly primary: RedisServer,
    readonly replica: RedisServer,
    readonly sentinels: readonly RedisServer[],
    private readonly remove: () => Promise<void>,
  ) {}

  static readonly masterName = 'main';

  static async start(count = 1): Promise<SentinelRedis> {
    const folder = await temporaryFolder();
    const primary = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] });
    const replica = await RedisServer.start({ args: ['--replicaof', '127.0.0.1', `${primary.port}`] });
    await eventually(async () => /master_link_status:up/.test(await replica.redis.info('replication')), 20_000);
    const { masterName } = SentinelRedis;
    const startSentinel = async (_: unknown, i: number) => {
      const configuration = join(folder.path, `sentinel-${i}.conf`);
      await writeFile(
        configuration,
        [
          `sentinel monitor ${masterName} 127.0.0.1 ${primary.port} 1`,
          `sentinel down-after-milliseconds ${masterName} 1000`,
          `sentinel failover-timeout ${masterName} 5000`,
        ].join('\n'),
      );
      return RedisServer.start({ configuration });
    };
    const sentinels = await Promise.all(Array.from({ length: count }, startSentinel));
    await eventually(async () => {
      const asked = sentinels.map(({ redis }) => redis.call('SENTINEL', 'replicas', masterName));
      return (await Promise.all(asked)).every((replicas) => (replicas as unknown[]).length === 1);
    }, 20_000);
    return new SentinelRedis(primary, replica, sentinels, folder.remove);
  }

  /** Of the Sentinels, and what they call the primary. */
  get address() {
    const sentinels = this.sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
    return { sentinels, name: SentinelRedis.masterName };
  }

  /** The port of what Sentinel takes for the primary. */
  async primaryPort(): Promise<number> {
    const [, port] = (await this.sentinels[0]!.redis.call(
      ...(['SENTINEL', 'get-master-addr-by-name', SentinelRedis.masterName] as const),
    )) as string[];
    return Number(port);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, this.primary, this.replica].map((server) => server.stop()));
    await this.remove();
  }
}

/** Three nodes of a Redis Cluster. */
export class ClusterRedis {
  private constructor(readonly nodes: readonly RedisServer[]) {}

  static async start(): Promise<ClusterRedis> {
    const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '3000'];
    const nodes = await Promise.all([0, 1, 2].map(() => RedisServer.start({ args })));
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
    await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
    await eventually(async () => {
      for (const { redis } of nodes) if (!/cluster_state:ok/.test(await redis.cluster('INFO'))) return false;
      return true;
    }, 20_000);
    return new ClusterRedis(nodes);
  }

  async ownerOf(key: string): Promise<RedisServer> {
    const slot = await this.nodes[0]!.redis.cluster('KEYSLOT', key);
    const ranges = (await this.nodes[0]!.redis.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
    const [, , [, port]] = ranges.find(([first, last]) => first <= slot && slot <= last)!;
    return this.nodes.find((node) => node.port === port)!;
  }

  /** Moves the slot of a key, with all that is in it, to another node. */
  async move(key: string): Promise<void> {
    const from = await this.ownerOf(key);
    const to = this.nodes.find((node) => node !== from)!;
    const slot = await from.redis.cluster('KEYSLOT', key);
    const [fromId, toId] = await Promise.all([from, to].map(({ redis }) => redis.cluster('MYID')));
    await to.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId!);
    await from.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId!);
    for (;;) {
      const keys = (await from.redis.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
      if (keys.length === 0) break;
      await from.redis.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
    }
    for (const { redis } of [to, from, ...this.nodes]) await redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId!);
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }
}
