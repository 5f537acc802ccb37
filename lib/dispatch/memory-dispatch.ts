import type { HintReader, Inbox, Mailbox, Offers, Origin, Subscription } from '../ports';
import { Epochs } from './epochs';
import { MemoryHints } from './memory-hints';
import type { Hint, HoldfastDispatch, ToProcess, ToShard } from './messages';

/** Dispatch inside one process: nothing is copied, and nothing is left when the process ends. */
export class MemoryDispatch implements HoldfastDispatch {
  private readonly inboxes = new Map<number, MemoryInbox>();
  private readonly mailboxes = new Map<string, (message: ToProcess, from: Origin) => void>();
  private readonly hints = new MemoryHints<Hint>();

  async send(shard: number, message: ToShard): Promise<void> {
    this.inbox(shard).add(message);
  }

  openInbox(shard: number, onArrival: () => void): Inbox<ToShard> {
    const inbox = this.inbox(shard);
    inbox.open(onArrival);
    return inbox;
  }

  openMailbox(process: string, onMessage: (message: ToProcess) => void): Mailbox {
    const epochs = new Epochs();
    this.mailboxes.set(process, (message, from) => {
      if (epochs.accept(from)) onMessage(message);
    });
    return { close: () => void this.mailboxes.delete(process) };
  }

  post(process: string, message: ToProcess, from: Origin): void {
    // Not at once: a receiver must never run inside the sender's turn.
    setImmediate(() => this.mailboxes.get(process)?.(message, from));
  }

  openOffers(): Offers<Hint> {
    return this.hints.openOffers();
  }

  openHints(_process: string, wanted: Subscription, onHint: (hint: Hint) => void): HintReader<Hint> {
    return this.hints.openReader(wanted, onHint);
  }

  isGone(process: string): boolean {
    return !this.mailboxes.has(process);
  }

  private inbox(shard: number): MemoryInbox {
    let inbox = this.inboxes.get(shard);
    if (!inbox) {
      inbox = new MemoryInbox();
      this.inboxes.set(shard, inbox);
    }
    return inbox;
  }
}

class MemoryInbox implements Inbox<ToShard> {
  readonly isHeard = true;
  private messages: ToShard[] = [];
  private taken = 0;
  private onArrival: (() => void) | undefined;

  add(message: ToShard): void {
    this.messages.push(message);
    this.onArrival?.();
  }

  open(onArrival: () => void): void {
    this.onArrival = onArrival;
    this.rewind();
  }

  take(limit: number): ToShard[] {
    const messages = this.messages.slice(this.taken, this.taken + limit);
    this.taken += messages.length;
    return messages;
  }

  trim(count: number): void {
    this.messages.splice(0, count);
    this.taken -= count;
  }

  rewind(): void {
    this.taken = 0;
    if (this.messages.length > 0) this.onArrival?.();
  }

  close(): void {
    this.onArrival = undefined;
    this.rewind();
  }
}
