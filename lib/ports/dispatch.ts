/**
 * How commands, answers and tasks travel. Messages may be lost with the process that carries them, come twice or late:
 * senders repeat, receivers know repeats. Nothing in here has to survive.
 */
export interface Dispatch<ToShard, ToProcess> {
  /** Sends to whoever owns the shard; kept until an owner has trimmed it. Rejects with a transient error if it cannot. */
  send(shard: number, message: ToShard): Promise<void>;
  /** The owner's end of a shard's inbox. Messages sent before it was opened are there. */
  openInbox(shard: number, onArrival: () => void): Inbox<ToShard>;
  /** Where a process gets what is posted to it. */
  openMailbox(process: string, onMessage: (message: ToProcess) => void): Mailbox;
  /** Posts to a process; to one that is gone, does nothing. */
  post(process: string, message: ToProcess): void;
  /** Whether the process is known to be gone for good, so that its attempts need not wait for its heartbeat to fail. */
  isGone(process: string): boolean;
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
