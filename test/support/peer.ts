import type { ChildProcess } from 'node:child_process';
import { type ErrorCode, HoldfastError } from '../../index';

type Handlers = Readonly<Record<string, (...args: never[]) => unknown>>;

type Message =
  | { readonly call: string; readonly id?: number; readonly args: readonly unknown[] }
  | { readonly answerTo: number; readonly value?: unknown; readonly error?: { code?: ErrorCode; message: string } };

/** One of two processes that call each other's functions over the channel between parent and child. */
export class Peer {
  private calls = 0;
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();

  constructor(
    private readonly channel: ChildProcess | NodeJS.Process,
    private readonly handlers: Handlers,
  ) {
    channel.on('message', (message: Message) => this.take(message));
  }

  /** Resolves with what the other's function gives. */
  call<T = void>(name: string, ...args: readonly unknown[]): Promise<T> {
    return new Promise((resolve, reject) => {
      const id = ++this.calls;
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.send({ call: name, id, args });
    });
  }

  /** Calls the other's function and waits for nothing. */
  tell(name: string, ...args: readonly unknown[]): void {
    this.send({ call: name, args });
  }

  /** The other is gone. */
  end(): void {
    for (const { reject } of this.waiting.values()) reject(new Error('the process is gone'));
    this.waiting.clear();
  }

  private take(message: Message): void {
    if ('call' in message) {
      this.run(message).catch((error) => console.error(error));
      return;
    }
    const { answerTo, value, error } = message;
    const waiting = this.waiting.get(answerTo);
    this.waiting.delete(answerTo);
    if (error) waiting?.reject(error.code ? new HoldfastError(error.code, error.message) : new Error(error.message));
    else waiting?.resolve(value);
  }

  private async run({ call, id, args }: Extract<Message, { call: string }>): Promise<void> {
    const handler = this.handlers[call] as (...args: readonly unknown[]) => unknown;
    if (id === undefined) {
      await handler(...args);
      return;
    }
    try {
      this.send({ answerTo: id, value: await handler(...args) });
    } catch (thrown) {
      const error = thrown as { code?: ErrorCode; message: string; stack?: string };
      const message = error.code ? error.message : (error.stack ?? error.message);
      this.send({ answerTo: id, error: { ...(error.code && { code: error.code }), message } });
    }
  }

  private send(message: Message): void {
    if (this.channel.connected) this.channel.send!(message, undefined, undefined, () => {});
  }
}
