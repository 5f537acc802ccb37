import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { eventually } from './eventually';

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Answers the next commands instead of Redis. */
  injected: string | undefined;
}

/** Stands between processes and Redis, and does what networks and servers do on bad days. */
export class RedisProxy {
  private readonly links = new Set<Link>();
  private readonly swallowed = new Set<Socket>();
  private frozen = false;
  private swallowing = false;
  /** Commands that match reach Redis, and their reply is lost with the connection. */
  private losing: { readonly match: RegExp; times: number } | undefined;
  readonly lost: string[] = [];

  private constructor(
    private readonly server: Server,
    private readonly target: number,
  ) {
    server.on('connection', (client) => this.link(client));
  }

  static async start(target: number): Promise<RedisProxy> {
    const server = createServer({ pauseOnConnect: false });
    const proxy = new RedisProxy(server, target);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  /** Ends all connections. */
  cut(): void {
    for (const client of this.swallowed) client.resetAndDestroy();
    for (const { client, upstream } of this.links) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  /** Nothing goes through any more, and nobody is told. */
  freeze(): void {
    this.frozen = true;
    for (const { client, upstream } of this.links) {
      client.pause();
      upstream.pause();
    }
  }

  thaw(): void {
    this.frozen = false;
    for (const { client, upstream } of this.links) {
      client.resume();
      upstream.resume();
    }
  }

  /** The connections there are lead nowhere any more, and nobody is told; new ones are sound. */
  strand(): void {
    for (const { client, upstream } of this.links) {
      client.removeAllListeners('data').resume();
      upstream.removeAllListeners('data').resume();
    }
  }

  /** Cuts all connections; those that are made instead lead nowhere, for ever, and nobody is told. Later ones are sound. */
  async swallow(): Promise<void> {
    const lost = this.links.size;
    this.swallowing = true;
    this.cut();
    await eventually(() => this.swallowed.size >= lost);
    this.swallowing = false;
  }

  /** Each connection's next commands are answered by this error, and do not reach Redis. */
  inject(error: string): void {
    for (const link of this.links) link.injected = error;
  }

  loseReplies(match: RegExp, times: number): void {
    this.losing = { match, times };
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private link(client: Socket): void {
    if (this.swallowing) {
      this.swallowed.add(client);
      client.on('error', () => {}).on('close', () => this.swallowed.delete(client));
      client.resume();
      return;
    }
    const upstream = createConnection(this.target, '127.0.0.1');
    const link: Link = { client, upstream, injected: undefined };
    this.links.add(link);
    const end = () => {
      this.links.delete(link);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end).setNoDelay(true);
    client.on('data', (bytes) => this.toRedis(link, bytes));
    upstream.on('data', (bytes) => client.write(bytes));
    if (this.frozen) {
      client.pause();
      upstream.pause();
    }
  }

  private toRedis(link: Link, bytes: Buffer): void {
    const { client, upstream, injected } = link;
    const text = bytes.toString('latin1');
    if (injected !== undefined && text.startsWith('*')) {
      link.injected = undefined;
      client.write(`-${injected}\r\n`.repeat(commandsIn(text)));
      return;
    }
    if (this.losing && this.losing.times > 0 && this.losing.match.test(text)) {
      this.losing.times--;
      this.lost.push(text.slice(0, 80));
      upstream.removeAllListeners('data');
      upstream.write(bytes, () => setTimeout(() => client.resetAndDestroy(), 20));
      return;
    }
    upstream.write(bytes);
  }
}

/** How many commands a chunk holds: arrays of bulk strings, of which the last may go on in the next chunk. */
function commandsIn(text: string): number {
  let commands = 0;
  for (let at = 0; text[at] === '*'; commands++) {
    let end = text.indexOf('\r\n', at);
    let parts = Number(text.slice(at + 1, end));
    at = end + 2;
    for (; parts > 0 && at < text.length; parts--) {
      end = text.indexOf('\r\n', at);
      at = end + 2 + Number(text.slice(at + 1, end)) + 2;
    }
  }
  return Math.max(1, commands);
}
