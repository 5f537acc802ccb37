import type { Inbox } from '../../ports';
import { decodeRecord } from '../../values';
import type { StreamEntry } from './stream-entry';

/** Above this no more is read until what is here has been taken and trimmed. */
const heldBytes = 32 * 1024 * 1024;

interface Held<M> {
  readonly entry: { readonly id: string; left: number };
  readonly message: M;
  readonly bytes: number;
}

/** A shard's inbox, as far as it has been read. */
export class RedisInbox<M> implements Inbox<M> {
  private messages: Held<M>[] = [];
  private readonly known = new Set<string>();
  private taken = 0;
  private bytes = 0;

  constructor(
    private readonly hooks: {
      isHeard(): boolean;
      onArrival(): void;
      /** What these entries asked for is durable. */
      remove(ids: readonly string[]): void;
      full(full: boolean): void;
      unreadable(error: unknown): void;
      close(): void;
    },
  ) {}

  get isHeard(): boolean {
    return this.hooks.isHeard();
  }

  add(entries: readonly StreamEntry[]): void {
    for (const { id, values } of entries) {
      // Read once more after a loss of data.
      if (this.known.has(id)) continue;
      this.known.add(id);
      const entry = { id, left: values.length };
      for (const value of values) this.addMessage(entry, value);
    }
    if (this.bytes > heldBytes) this.hooks.full(true);
    this.hooks.onArrival();
  }

  private addMessage(entry: Held<M>['entry'], value: Buffer): void {
    let message: M;
    try {
      message = decodeRecord(value) as M;
    } catch (error) {
      this.hooks.unreadable(error);
      if (--entry.left === 0) this.hooks.remove([entry.id]);
      return;
    }
    this.messages.push({ entry, message, bytes: value.length });
    this.bytes += value.length;
  }

  take(limit: number): M[] {
    const messages = this.messages.slice(this.taken, this.taken + limit);
    this.taken += messages.length;
    return messages.map(({ message }) => message);
  }

  trim(count: number): void {
    const wasFull = this.bytes > heldBytes;
    const done: string[] = [];
    for (const { entry, bytes } of this.messages.splice(0, count)) {
      this.bytes -= bytes;
      if (--entry.left > 0) continue;
      done.push(entry.id);
      this.known.delete(entry.id);
    }
    this.taken -= count;
    if (done.length > 0) this.hooks.remove(done);
    if (wasFull && this.bytes <= heldBytes) this.hooks.full(false);
  }

  rewind(): void {
    this.taken = 0;
    if (this.messages.length > 0) this.hooks.onArrival();
  }

  close(): void {
    this.hooks.close();
  }
}
