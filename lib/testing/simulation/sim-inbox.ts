import type { ToShard } from '../../dispatch';
import type { Inbox } from '../../ports';
import type { SimProcess } from './sim-process';
import type { InboxEntry, Switchboard } from './switchboard';

/** One owner's end of a shard's inbox. Two may read it at a time: a stale owner and the new one. */
export class SimInbox implements Inbox<ToShard> {
  private position = 0;
  /** Ids of the entries that were taken and not trimmed, oldest first. */
  private taken: number[] = [];

  constructor(
    private readonly board: Switchboard,
    private readonly process: SimProcess,
    private readonly shard: number,
    private readonly onArrival: () => void,
  ) {
    board.addReader(shard, this);
    process.onEnd(() => this.board.removeReader(shard, this));
    if (this.entries.length > 0) this.arrived();
  }

  get isHeard(): boolean {
    return !this.board.isCut(this.process);
  }

  take(limit: number): ToShard[] {
    if (this.process.isDead || !this.isHeard) return [];
    const entries = this.entries.filter(({ id }) => id > this.position).slice(0, limit);
    for (const { id, message } of entries) {
      this.position = id;
      this.taken.push(id);
      if (message.kind === 'beat') this.board.watch.heard(this.process, this.shard, message.process);
    }
    return entries.map(({ message }) => message);
  }

  trim(count: number): void {
    const ids = new Set(this.taken.splice(0, count));
    this.process.act(() => {
      const { entries } = this;
      for (let i = entries.length - 1; i >= 0; i--) {
        const { id, message } = entries[i]!;
        if (!ids.has(id)) continue;
        this.board.watch.trimmed(this.process, message);
        entries.splice(i, 1);
      }
    });
  }

  rewind(): void {
    this.position = 0;
    this.taken = [];
    if (this.entries.length > 0) this.arrived();
  }

  close(): void {
    this.board.removeReader(this.shard, this);
  }

  /** Something new is there. */
  arrived(): void {
    this.process.enter(() => {
      if (this.isHeard) this.onArrival();
    });
  }

  private get entries(): InboxEntry[] {
    return this.board.inbox(this.shard);
  }
}
