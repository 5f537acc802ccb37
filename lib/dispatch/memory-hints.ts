import type { AnyHint, HintReader, Offers, Subscription } from '../ports';

interface Standing<H> {
  readonly hint: H;
  /** Who was given it; undefined while nobody was. */
  reader: MemoryHintReader<H> | undefined;
}

/** Hints inside one process. */
export class MemoryHints<H extends AnyHint> {
  private readonly standing = new Map<string, Standing<H>>();
  private readonly readers = new Set<MemoryHintReader<H>>();
  private planned = false;

  openOffers(): Offers<H> {
    const mine = new Set<string>();
    return {
      offer: (hint) => {
        if (this.standing.has(hint.id)) return;
        mine.add(hint.id);
        this.standing.set(hint.id, { hint, reader: undefined });
        this.deliverLater();
      },
      withdraw: (id) => {
        mine.delete(id);
        this.standing.delete(id);
      },
      forget: (id) => {
        mine.delete(id);
        this.standing.delete(id);
      },
      close: () => {
        for (const id of mine) this.standing.delete(id);
        mine.clear();
      },
    };
  }

  openReader(wanted: Subscription, onHint: (hint: H) => void): HintReader<H> {
    const reader: MemoryHintReader<H> = {
      wanted,
      onHint,
      left: 0,
      want: (count) => {
        reader.left = count;
        if (count > 0) this.deliverLater();
      },
      done: ({ id }) => void this.standing.delete(id),
      ended: () => {},
      giveBack: ({ id }) => this.free(id, reader),
      close: () => {
        this.readers.delete(reader);
        for (const id of this.standing.keys()) this.free(id, reader);
      },
    };
    this.readers.add(reader);
    return reader;
  }

  private free(id: string, reader: MemoryHintReader<H>): void {
    const standing = this.standing.get(id);
    if (standing?.reader !== reader) return;
    standing.reader = undefined;
    // To the end, so that what one worker does not want does not keep it from the rest.
    this.standing.delete(id);
    this.standing.set(id, standing);
    this.deliverLater();
  }

  private deliverLater(): void {
    if (this.planned || this.readers.size === 0) return;
    this.planned = true;
    setImmediate(() => {
      this.planned = false;
      this.deliver();
    });
  }

  private deliver(): void {
    const eager = [...this.readers].filter(({ left }) => left > 0);
    for (const standing of this.standing.values()) {
      if (standing.reader) continue;
      const at = eager.findIndex(({ wanted }) => serves(wanted, standing.hint));
      if (at < 0) continue;
      const [reader] = eager.splice(at, 1) as [MemoryHintReader<H>];
      reader.left--;
      // Round about, so that workers share.
      if (reader.left > 0) eager.push(reader);
      standing.reader = reader;
      reader.onHint(standing.hint);
      if (eager.length === 0) return;
    }
  }
}

interface MemoryHintReader<H> extends HintReader<H> {
  readonly wanted: Subscription;
  readonly onHint: (hint: H) => void;
  left: number;
}

function serves({ flows, taskQueues }: Subscription, { flow, taskQueue }: AnyHint): boolean {
  if (!flows.includes(flow)) return false;
  if (taskQueues === 'calls' || taskQueue === null) return taskQueues === 'calls' && taskQueue === null;
  return taskQueues === null || taskQueues.includes(taskQueue);
}
