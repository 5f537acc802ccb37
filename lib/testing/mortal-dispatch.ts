import type { Hint, HoldfastDispatch, ToProcess, ToShard } from '../dispatch';
import type { HintReader, Inbox, Mailbox, Offers, Origin, Subscription } from '../ports';
import type { Life } from './life';

/** Who sent what, so that what a process had sent and nobody had saved is lost with it. */
const senders = new WeakMap<ToShard, Life>();

/** The dispatch as a process gets it that may die: from then on it sends nothing and hears nothing. */
export class MortalDispatch implements HoldfastDispatch {
  constructor(
    private readonly inner: HoldfastDispatch,
    private readonly life: Life,
  ) {}

  async send(shard: number, message: ToShard): Promise<void> {
    if (this.life.isOver) return;
    senders.set(message, this.life);
    await this.inner.send(shard, message);
  }

  openInbox(shard: number, onArrival: () => void): Inbox<ToShard> {
    const inbox = this.inner.openInbox(shard, onArrival);
    const forget = this.life.atEnd(() => inbox.close());
    return {
      isHeard: true,
      take: (limit) => inbox.take(limit).map((message) => (senders.get(message)?.isOver ? lost : message)),
      trim: (count) => inbox.trim(count),
      rewind: () => inbox.rewind(),
      close: () => {
        forget();
        inbox.close();
      },
    };
  }

  openMailbox(process: string, onMessage: (message: ToProcess) => void): Mailbox {
    const mailbox = this.inner.openMailbox(process, onMessage);
    this.life.atEnd(() => mailbox.close());
    return mailbox;
  }

  post(process: string, message: ToProcess, from: Origin): void {
    if (!this.life.isOver) this.inner.post(process, message, from);
  }

  openOffers(): Offers<Hint> {
    const offers = this.inner.openOffers();
    this.life.atEnd(() => offers.close());
    return offers;
  }

  openHints(process: string, wanted: Subscription, onHint: (hint: Hint) => void): HintReader<Hint> {
    const hints = this.inner.openHints(process, wanted, onHint);
    this.life.atEnd(() => hints.close());
    return hints;
  }

  isGone(process: string): boolean {
    return this.inner.isGone(process);
  }
}

/** In the place of a message that died with its sender. */
const lost: ToShard = { kind: 'leave', process: '' };
