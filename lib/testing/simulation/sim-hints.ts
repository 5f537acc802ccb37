import type { Hint } from '../../dispatch';
import type { Cancel, HintReader, Offers, Subscription } from '../../ports';
import type { SimProcess } from './sim-process';
import type { Switchboard } from './switchboard';

interface Standing {
  readonly hint: Hint;
  /** Who was given it, and when; undefined while nobody was. */
  reader: SimHintReader | undefined;
  givenAt: number;
}

/** An owner looks this often whether its hints are still there. */
const sweepMs = 5_000;
/** What was given for so long and not claimed is given to others. */
const idleMs = 10_000;

/** The queues that workers read hints from. Hints get lost like anything that travels; their owners put them there again. */
export class HintQueues {
  private readonly standing = new Map<string, Standing>();
  private readonly readers = new Set<SimHintReader>();

  constructor(readonly board: Switchboard) {}

  openOffers(process: SimProcess): Offers<Hint> {
    return new SimOffers(process, this);
  }

  openReader(process: SimProcess, wanted: Subscription, onHint: (hint: Hint) => void): HintReader<Hint> {
    const reader = new SimHintReader(process, wanted, onHint, this);
    this.readers.add(reader);
    process.onEnd(() => this.remove(reader));
    return reader;
  }

  put(process: SimProcess, hint: Hint): void {
    this.board.watch.offered(process, hint);
    this.board.carry(process, hint, (copy: Hint) => {
      if (this.standing.has(copy.id)) return;
      this.standing.set(copy.id, { hint: copy, reader: undefined, givenAt: 0 });
      this.give();
    });
  }

  take(id: string): void {
    this.standing.delete(id);
  }

  free(id: string, reader: SimHintReader): void {
    const standing = this.standing.get(id);
    if (standing?.reader !== reader) return;
    this.standing.delete(id);
    this.standing.set(id, { ...standing, reader: undefined });
    this.give();
  }

  /** Puts what got lost there again, and gives to others what nobody claimed. */
  sweep(process: SimProcess, hints: Iterable<Hint>): void {
    const { now } = process.parts.timeline;
    for (const hint of hints) {
      const standing = this.standing.get(hint.id);
      if (!standing) this.put(process, hint);
      else if (standing.reader && now - standing.givenAt >= idleMs) this.free(hint.id, standing.reader);
    }
    this.give();
  }

  remove(reader: SimHintReader): void {
    this.readers.delete(reader);
    for (const id of [...this.standing.keys()]) this.free(id, reader);
  }

  empty(): void {
    this.standing.clear();
  }

  give(): void {
    for (const standing of this.standing.values()) {
      if (standing.reader) continue;
      const reader = [...this.readers].find((each) => each.takes(standing.hint));
      if (!reader) continue;
      standing.reader = reader;
      standing.givenAt = reader.process.parts.timeline.now;
      reader.left--;
      // A worker fetches it: that it gets lost shows as a worker that does not claim it.
      this.board.deliver(() => reader.arrive(standing.hint));
      // To the end, so that workers share.
      this.readers.delete(reader);
      this.readers.add(reader);
    }
  }
}

class SimOffers implements Offers<Hint> {
  private readonly mine = new Map<string, Hint>();
  private cancelSweep: Cancel | undefined;

  constructor(
    private readonly process: SimProcess,
    private readonly queues: HintQueues,
  ) {}

  offer(hint: Hint): void {
    this.mine.set(hint.id, hint);
    this.process.act(() => this.reach(() => this.queues.put(this.process, hint)));
    this.sweepLater();
  }

  withdraw(id: string): void {
    if (this.mine.delete(id)) this.process.act(() => this.reach(() => this.queues.take(id)));
  }

  forget(id: string): void {
    this.mine.delete(id);
  }

  close(): void {
    this.mine.clear();
    this.cancelSweep?.();
    this.cancelSweep = undefined;
  }

  private sweepLater(): void {
    this.cancelSweep ??= this.process.later(sweepMs, () => {
      this.cancelSweep = undefined;
      this.process.act(() => this.reach(() => this.queues.sweep(this.process, [...this.mine.values()])));
      if (this.mine.size > 0) this.sweepLater();
    });
  }

  private reach(effect: () => void): void {
    if (!this.queues.board.isCut(this.process)) effect();
  }
}

export class SimHintReader implements HintReader<Hint> {
  left = 0;

  constructor(
    readonly process: SimProcess,
    private readonly wanted: Subscription,
    private readonly onHint: (hint: Hint) => void,
    private readonly queues: HintQueues,
  ) {}

  want(count: number): void {
    this.process.act(() => {
      this.left = count;
      this.queues.give();
    });
  }

  done(hint: Hint): void {
    this.process.act(() => this.queues.take(hint.id));
  }

  ended(): void {}

  giveBack(hint: Hint): void {
    this.process.act(() => this.queues.free(hint.id, this));
  }

  close(): void {
    this.queues.remove(this);
  }

  takes({ flow, taskQueue }: Hint): boolean {
    const { flows, taskQueues } = this.wanted;
    if (this.left <= 0 || !this.process.runs || this.queues.board.isCut(this.process) || !flows.includes(flow))
      return false;
    if (taskQueues === 'calls' || taskQueue === null) return taskQueues === 'calls' && taskQueue === null;
    return taskQueues === null || taskQueues.includes(taskQueue);
  }

  arrive(hint: Hint): void {
    if (this.queues.board.isCut(this.process)) {
      this.left++;
      this.queues.free(hint.id, this);
    } else this.process.enter(() => this.onHint(hint));
  }
}
