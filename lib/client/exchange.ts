import type { Answer, HoldfastDispatch, ToShard } from '../dispatch';
import { HoldfastError } from '../errors';
import type { Cancel, Clock, Ids, Mailbox } from '../ports';
import { fromFailure } from '../values';
import { durationMs } from '../values/duration';
import type { CallOptions } from './settings';

/** An unanswered message is sent again this often; it is known by its content's id and applied once. */
const repeatMs = 5_000;
/** One that could not even be sent is tried again this often. */
const unsentMs = 500;
export const defaultDeadlineMs = 60_000;

interface Pending {
  readonly shard: number;
  send(): void;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Sends messages to shards and brings their answers back, repeating what is not answered. */
export class Exchange {
  private readonly pending = new Map<string, Pending>();
  private mailbox: Mailbox | undefined;

  constructor(
    private readonly process: string,
    private readonly dispatch: HoldfastDispatch,
    private readonly clock: Clock,
    private readonly ids: Ids,
    /** A shard does not know a plan of this client. */
    private readonly introduce: (shard: number) => void,
  ) {}

  open(): void {
    this.mailbox = this.dispatch.openMailbox(this.process, (message) => {
      if (message.kind === 'answer') this.settle(message);
      if (message.kind === 'unknown') this.introduceAgain(message.shard);
    });
  }

  close(): void {
    this.mailbox?.close();
    this.mailbox = undefined;
    const error = new HoldfastError('CLOSED', 'The client was closed before the answer came.');
    for (const { reject } of [...this.pending.values()]) reject(error);
  }

  /**
   * Sends what `make` makes and resolves with the answer. Rejects with the answer's error, `CLOSED`, `ABORTED`, and at the deadline with `REDIS_UNAVAILABLE` if it could not be sent, else with `DEADLINE_EXCEEDED`. What was
   * refused before anything had been sent is the caller's to repeat: `REDIS_FULL`, `OVERLOADED`.
   */
  async call(
    shard: number,
    make: (id: string, replyTo: string) => ToShard,
    { signal, deadline }: CallOptions,
    waits: boolean,
  ): Promise<unknown> {
    if (!this.mailbox) throw new HoldfastError('CLOSED', 'The client is closed.');
    if (signal?.aborted) throw aborted(signal);
    const deadlineMs = deadline === undefined ? (waits ? null : defaultDeadlineMs) : durationMs(deadline, 'deadline');
    const id = this.ids.next();
    const message = make(id, this.process);
    const cancels: Cancel[] = [];
    try {
      return await new Promise<unknown>((resolve, reject) => {
        let maybeSent = false;
        let unsent: unknown;
        const repeat = (ms: number) => {
          cancels[0]?.();
          if (this.pending.has(id)) cancels[0] = this.clock.after(ms, send);
        };
        const send = () => {
          repeat(repeatMs);
          this.dispatch.send(shard, message).then(
            () => {
              maybeSent = true;
              unsent = undefined;
            },
            (error) => {
              if (!maybeSent && isRefusal(error)) return reject(error);
              maybeSent = true;
              unsent = error;
              repeat(unsentMs);
            },
          );
        };
        this.pending.set(id, { shard, send, resolve, reject });
        send();
        if (deadlineMs !== null) cancels[1] = this.clock.after(deadlineMs, () => reject(unsent ?? tooLate(deadlineMs)));
        if (signal) {
          const abort = () => reject(aborted(signal));
          signal.addEventListener('abort', abort, { once: true });
          cancels[2] = () => signal.removeEventListener('abort', abort);
        }
      });
    } finally {
      this.pending.delete(id);
      for (const cancel of cancels) cancel?.();
    }
  }

  private introduceAgain(shard: number): void {
    this.introduce(shard);
    for (const pending of this.pending.values()) if (pending.shard === shard) pending.send();
  }

  private settle(answer: Answer): void {
    const pending = this.pending.get(answer.id);
    if (!pending) return;
    if ('error' in answer) {
      const { code, message, failure, ...details } = answer.error;
      const cause = failure === undefined ? {} : { cause: fromFailure(failure) };
      pending.reject(new HoldfastError(code, message, { ...details, ...cause }));
    } else pending.resolve(answer.value);
  }
}

/** Whether what was sent certainly went nowhere. */
function isRefusal(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === 'REDIS_FULL' || error.code === 'OVERLOADED');
}

export function aborted({ reason }: AbortSignal): HoldfastError {
  const why = reason instanceof Error ? reason.message : String(reason);
  return new HoldfastError('ABORTED', `The call was aborted: ${why}`, { cause: reason });
}

export function tooLate(deadlineMs: number): HoldfastError {
  return new HoldfastError(
    'DEADLINE_EXCEEDED',
    `No answer came within ${deadlineMs} ms; the request may still be applied.`,
  );
}
