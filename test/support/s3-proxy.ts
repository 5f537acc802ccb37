import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';

/** `lose`: the request is carried out, its answer is lost. A number: that status, and nothing is carried out. */
export type S3Fault = 'lose' | 'slow' | 409 | 412 | 500 | 503;

/** Stands before an object store and does to its writes what object stores do on bad days. */
export class S3Proxy {
  /** Asked for each PUT of an object. */
  fault: (path: string) => S3Fault | undefined = () => undefined;
  readonly done = new Map<S3Fault, number>();
  /** Paths of the objects that were read, in order. */
  readonly reads: string[] = [];

  private constructor(
    private readonly server: Server,
    private readonly target: number,
  ) {
    server.on('request', (incoming, outgoing) => this.pass(incoming, outgoing));
  }

  static async start(target: number): Promise<S3Proxy> {
    const server = createServer();
    const proxy = new S3Proxy(server, target);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method, url, headers } = incoming;
    if (method === 'GET') this.reads.push(url!);
    const fault = method === 'PUT' ? this.fault(url!) : undefined;
    if (fault !== undefined) this.done.set(fault, (this.done.get(fault) ?? 0) + 1);
    if (typeof fault === 'number') {
      const codes = {
        409: 'ConditionalRequestConflict',
        412: 'PreconditionFailed',
        500: 'InternalError',
        503: 'SlowDown',
      };
      outgoing.writeHead(fault, { 'content-type': 'application/xml' });
      outgoing.end(`<Error><Code>${codes[fault]}</Code><Message>injected</Message></Error>`);
      return;
    }
    if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 1_500));
    const onward = request({ host: '127.0.0.1', port: this.target, method, path: url, headers }, (answer) => {
      if (fault === 'lose') {
        answer.resume().on('end', () => incoming.socket.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.socket.destroy());
    onward.end(Buffer.concat(chunks));
  }
}
