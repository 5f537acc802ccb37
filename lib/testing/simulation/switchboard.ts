import type { Hint, ToProcess, ToShard } from '../../dispatch';
import type { Origin } from '../../ports';
import { decodeRecord, encodeRecord } from '../../values';
import { HintQueues } from './sim-hints';
import type { SimInbox } from './sim-inbox';
import type { SimProcess } from './sim-process';
import type { Timeline } from './timeline';

export interface InboxEntry {
  readonly id: number;
  readonly message: ToShard;
}

/** What watches the traffic from outside. */
export interface TrafficWatch {
  sent(from: SimProcess, message: ToShard): void;
  /** An owner has taken a beat of a worker out of an inbox. */
  heard(by: SimProcess, shard: number, worker: string): void;
  /** An owner lets a message go: what it asked for must be durable. */
  trimmed(by: SimProcess, message: ToShard): void;
  /** An owner is about to say something; when it leaves is another matter. */
  speaks(from: SimProcess, origin: Origin): void;
  /** At the moment it leaves its sender. */
  posted(from: SimProcess, to: string, message: ToProcess, origin: Origin): void;
  offered(from: SimProcess, hint: Hint): void;
}

export interface SwitchboardSettings {
  /** Whether it knows at once that a process has died; otherwise only silence tells. */
  readonly tellsGone: boolean;
  /** Whether messages are encoded on their way. */
  readonly encodes: boolean;
  /** Inside one process nothing gets lost, and all of it ends with the process. */
  readonly isInProcess: boolean;
}

interface MailboxEnd {
  readonly process: SimProcess;
  readonly onMessage: (message: ToProcess, from: Origin) => void;
}

/** The network between the processes, and what waits in it: nothing in here has to survive. */
export class Switchboard {
  readonly mailboxes = new Map<string, MailboxEnd>();
  readonly hints = new HintQueues(this);
  private readonly inboxes = new Map<number, InboxEntry[]>();
  private readonly readers = new Map<number, Set<SimInbox>>();
  private readonly left = new Set<string>();
  /** Which filling of the queues: what was sent before they were emptied never arrives. */
  private filling = 0;
  private lastId = 0;

  constructor(
    private readonly timeline: Timeline,
    readonly settings: SwitchboardSettings,
    readonly watch: TrafficWatch,
  ) {}

  inbox(shard: number): InboxEntry[] {
    let entries = this.inboxes.get(shard);
    if (!entries) {
      entries = [];
      this.inboxes.set(shard, entries);
    }
    return entries;
  }

  addReader(shard: number, reader: SimInbox): void {
    const readers = this.readers.get(shard) ?? new Set();
    this.readers.set(shard, readers.add(reader));
  }

  removeReader(shard: number, reader: SimInbox): void {
    this.readers.get(shard)?.delete(reader);
  }

  refuses(from: SimProcess): boolean {
    return this.isCut(from) || (!this.settings.isInProcess && from.parts.faults.strikes('sendFails'));
  }

  /** Nothing of the process gets through, in either direction. */
  isCut(process: SimProcess): boolean {
    return process.cut.dispatch && !this.settings.isInProcess;
  }

  /** Gives a message to the network, which may lose, double or hold it. */
  carry<M>(from: SimProcess, message: M, arrive: (message: M) => void): void {
    const { faults, random } = from.parts;
    const { filling } = this;
    const { encodes, isInProcess } = this.settings;
    const copy = encodes ? (decodeRecord(encodeRecord(message)) as M) : message;
    let times = 1;
    let late = 0;
    if (!isInProcess) {
      times = faults.strikes('messageLost') ? 0 : faults.strikes('messageDoubled') ? 2 : 1;
      late = faults.strikes('messageLate') ? random.magnitude(10, 60_000) : 0;
    }
    for (let i = 0; i < times; i++) {
      this.timeline.after(1 + i * random.below(50) + late, () => {
        if (this.filling === filling) arrive(copy);
      });
    }
  }

  /** Something that is fetched, and so does not get lost on its way. */
  deliver(arrive: () => void): void {
    this.timeline.after(1, arrive);
  }

  arriveAtShard(shard: number, message: ToShard): void {
    this.inbox(shard).push({ id: ++this.lastId, message });
    for (const reader of this.readers.get(shard) ?? []) reader.arrived();
  }

  arriveAtProcess(to: string, message: ToProcess, from: Origin): void {
    const end = this.mailboxes.get(to);
    if (!end || end.process.isDead || this.isCut(end.process)) return;
    const { filling } = this;
    end.process.enter(() => {
      // A process that stood still has not fetched it yet.
      if (this.filling === filling && this.mailboxes.get(to) === end) end.onMessage(message, from);
    });
  }

  /** The process has ended, by itself or not. */
  end(process: SimProcess): void {
    this.mailboxes.delete(process.name);
    this.left.add(process.name);
  }

  isGone(process: string): boolean {
    if (this.settings.isInProcess) return !this.mailboxes.has(process);
    return this.settings.tellsGone && this.left.has(process);
  }

  /** Everything that waits or is on its way is lost. */
  empty(): void {
    this.filling++;
    this.hints.empty();
    for (const entries of this.inboxes.values()) entries.length = 0;
  }

  /** Lets the readers that could not hear look again. */
  wakeReaders(): void {
    for (const readers of this.readers.values()) for (const reader of readers) reader.arrived();
    this.hints.give();
  }
}
