import type { Slots } from './slots';

/**
 * How commands, answers and tasks travel. Messages may be lost with the process that carries them, come twice or late:
 * senders repeat, receivers know repeats. Nothing in here has to survive.
 */
export interface Dispatch<ToShard, ToProcess, Hint extends AnyHint> {
  /**
   * Sends to whoever owns the shard; kept until an owner has trimmed it. Rejects with a transient error if it cannot:
   * `REDIS_UNAVAILABLE`, `REDIS_FULL`, `OVERLOADED`.
   */
  send(shard: number, message: ToShard): Promise<void>;
  /** The owner's end of a shard's inbox. Messages sent before it was opened are there. */
  openInbox(shard: number, onArrival: () => void): Inbox<ToShard>;
  /** Where a process gets what is posted to it; what an owner posts that has been replaced is dropped (P5). */
  openMailbox(process: string, onMessage: (message: ToProcess) => void): Mailbox;
  /** Posts to a process; to one that is gone, does nothing. */
  post(process: string, message: ToProcess, from: Origin): void;
  /** The owner's end of what waits for workers. */
  openOffers(): Offers<Hint>;
  /** A worker's end of it. Nothing is given before the first `want`. */
  openHints(process: string, wanted: Subscription, onHint: (hint: Hint) => void): HintReader<Hint>;
  /** Whether the process is known to be gone for good, so that its attempts need not wait for its heartbeat to fail. */
  isGone(process: string): boolean;
  /** Counts slots by key over all engines; missing where there is one engine, which counts by itself. */
  readonly slots?: Slots;
}

/** Which owner says it. */
export interface Origin {
  readonly shard: number;
  readonly epoch: number;
}

export interface Inbox<M> {
  /** Whether what is sent arrives: false during an outage, in which silence means nothing. */
  readonly isHeard: boolean;
  /** The next messages, in order of arrival, each once until `rewind`. */
  take(limit: number): M[];
  /** Forgets the `count` oldest messages that were taken: what they asked for is durable. */
  trim(count: number): void;
  /** Gives all messages again that were taken and not trimmed. */
  rewind(): void;
  close(): void;
}

export interface Mailbox {
  close(): void;
}

/** Where in the queues a hint stands. */
export interface AnyHint {
  /** New for each issue of a call. */
  readonly id: string;
  readonly flow: string;
  /** null: an RPC or Query. */
  readonly taskQueue: string | null;
}

/** Says that something waits for a worker; a worker that reads it claims it from the owner. */
export interface Offers<Hint> {
  /** Puts a hint where the workers of its queue find it, again if it gets lost. One that is offered already is not doubled. */
  offer(hint: Hint): void;
  /** Nobody needs the hint any more. */
  withdraw(id: string): void;
  /** A worker has claimed the hint, and does away with it. */
  forget(id: string): void;
  /** Hints that were offered stay for the next owner or go; nothing is offered again. */
  close(): void;
}

/** What a worker reads hints of. */
export interface Subscription {
  readonly flows: readonly string[];
  /** Steps of these task queues, null: of all; `calls`: RPCs and Queries instead. */
  readonly taskQueues: readonly string[] | null | 'calls';
  /** Task queues that the plans name: read from the first moment on. Others are found as they appear. */
  readonly known?: readonly string[];
}

export interface HintReader<Hint> {
  /** How many hints the worker would take from now on; each hint that is given takes one off. */
  want(count: number): void;
  /** The claim was answered: nobody needs the hint any more. */
  done(hint: Hint): void;
  /** What was handed out for the hint has ended, or nothing was. */
  ended(hint: Hint): void;
  /** The worker does not want it: others get it. */
  giveBack(hint: Hint): void;
  /** Gives nothing any more; what was handed out for hints may still end. */
  close(): void;
  /** Nothing that was handed out for hints will be heard of any more. */
  end?(): Promise<void>;
}
