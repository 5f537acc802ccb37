import { type Address, nameOf, type Payload } from './payload';
import type { Snapshots } from './snapshots';
import type { Row, Table } from './table';

export interface MessageRow extends Row {
  readonly id: string;
  readonly address: Address;
  readonly value: Payload;
  readonly at: number;
  /** Number of the event that stored it. */
  readonly born: number;
  /** Of the event that consumed it, on rows which only calls with an older snapshot still see. */
  readonly consumedAt: number | null;
}

/** The Channels of a run: its unread messages, and consumed ones as long as somebody needs them. */
export class MessageQueues {
  /** Unread messages per address, oldest first. */
  private readonly queues = new Map<Address, Set<string>>();
  /** Rows whose consumer has ended and which a snapshot still sees as unread. */
  private readonly retained = new Set<string>();

  constructor(
    private readonly rows: Table<MessageRow>,
    private readonly snapshots: Snapshots,
    /** Messages that executions have consumed. */
    consumed: ReadonlySet<string>,
  ) {
    for (const [key, row] of rows.entries()) {
      if (row.consumedAt !== null) this.retained.add(key);
      else if (!consumed.has(key)) this.enqueue(row.address, key);
    }
  }

  add(row: MessageRow): void {
    const key = `${row.seq}`;
    this.rows.set(key, row);
    this.enqueue(row.address, key);
  }

  get(key: string): MessageRow | undefined {
    return this.rows.get(key);
  }

  /** Takes a message out of its queue; its row stays for the execution that consumed it. */
  consume(key: string): void {
    const { address } = this.rows.get(key)!;
    const queue = this.queues.get(address)!;
    queue.delete(key);
    if (queue.size === 0) this.queues.delete(address);
  }

  /** Deletes an unread message by its id, at event `deletedAt`; one that is not there is passed over. */
  remove(id: string, deletedAt: number): void {
    const key = this.keyOfUnread(id);
    if (key === undefined) return;
    this.consume(key);
    this.retire(key, deletedAt);
  }

  private keyOfUnread(id: string): string | undefined {
    for (const queue of this.queues.values()) for (const key of queue) if (this.rows.get(key)!.id === id) return key;
    return undefined;
  }

  /** The execution that consumed the message at event `consumedAt` has ended. */
  retire(key: string, consumedAt: number): void {
    const row = this.rows.get(key);
    if (!row) return;
    if (this.snapshots.seesWithin(row.born, consumedAt)) {
      this.rows.set(key, { ...row, consumedAt });
      this.retained.add(key);
    } else this.rows.delete(key);
  }

  /** Drops rows that nobody sees any more, after a snapshot was let go. */
  prune(): void {
    for (const key of [...this.retained]) {
      const row = this.rows.get(key)!;
      if (this.snapshots.seesWithin(row.born, row.consumedAt!)) continue;
      this.retained.delete(key);
      this.rows.delete(key);
    }
  }

  unread(address: Address): ReadonlySet<string> | undefined {
    return this.queues.get(address);
  }

  /** Whether a Channel, with all its keys, has no unread message. */
  isEmpty(name: string): boolean {
    for (const address of this.queues.keys()) if (nameOf(address) === name) return false;
    return true;
  }

  allUnread(): Iterable<readonly [Address, ReadonlySet<string>]> {
    return this.queues;
  }

  /**
   * Unread messages per address as they were at a snapshot, oldest first. `consumedAt` tells when a message that is no
   * longer unread was consumed.
   */
  unreadAt(snapshot: number, consumedAt: ReadonlyMap<string, number>): Map<Address, Set<string>> {
    const keys: string[] = [];
    for (const [key, row] of this.rows.entries()) {
      const consumed = row.consumedAt ?? consumedAt.get(key);
      if (row.born <= snapshot && (consumed === undefined || consumed > snapshot)) keys.push(key);
    }
    const queues = new Map<Address, Set<string>>();
    for (const key of keys) {
      const { address } = this.rows.get(key)!;
      const queue = queues.get(address);
      if (queue) queue.add(key);
      else queues.set(address, new Set([key]));
    }
    return queues;
  }

  private enqueue(address: Address, key: string): void {
    const queue = this.queues.get(address);
    if (queue) queue.add(key);
    else this.queues.set(address, new Set([key]));
  }
}
