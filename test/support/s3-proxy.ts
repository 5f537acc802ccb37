import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';

/**
 * `lose`: the request is carried out, its answer is lost. 412: the request is carried out, and answered as its repeat would
 * be: the object is there already. 409, 500 and 503: nothing is done.
 */
export type S3Fault = 'lose' | 'slow' | 409 | 412 | 500 | 503;

/** Stands before an object store and does to its writes what object stores do on bad days. */
export class S3Proxy {
  /** Asked for each PUT of an object of so many bytes. */
  fault: (path: string, bytes: number) => S3Fault | undefined = () => undefined;
  readonly done = new Map<S3Fault, number>();
  /** So many of the next reads get no answer at all. */
  unanswered = 0;
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
    if (method === 'GET') {
      this.reads.push(url!);
      if (this.unanswered > 0) {
        this.unanswered--;
        return;
      }
    }
    const fault = method === 'PUT' ? this.fault(url!, Buffer.concat(chunks).length) : undefined;
    if (fault !== undefined) this.done.set(fault, (this.done.get(fault) ?? 0) + 1);
    if (fault === 409 || fault === 500 || fault === 503) return refuse(outgoing, fault);
    if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 1_500));
    const onward = request({ host: '127.0.0.1', port: this.target, method, path: url, headers }, (answer) => {
      if (fault === 'lose') {
        answer.resume().on('end', () => incoming.socket.destroy());
        return;
      }
      if (fault === 412) {
        answer.resume().on('end', () => refuse(outgoing, fault));
        return;
      }
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.socket.destroy());
    onward.end(Buffer.concat(chunks));
  }
}

const codes = { 409: 'ConditionalRequestConflict', 412: 'PreconditionFailed', 500: 'InternalError', 503: 'SlowDown' };

function refuse(outgoing: ServerResponse, status: keyof typeof codes): void {
  outgoing.writeHead(status, { 'content-type': 'application/xml' });
  outgoing.end(`<Error><Code>${codes[status]}</Code><Message>injected</Message></Error>`);
}
