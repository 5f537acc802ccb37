import TinyQueue from 'tinyqueue';
import type { Cancel } from '../../ports';

interface Moment {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** 2024-01-01T00:00:00Z. */
const beginning = 1_704_067_200_000;

/** Virtual time: what is to happen, in order. Time passes only from one event to the next. */
export class Timeline {
  /** Milliseconds since the epoch. */
  now = beginning;
  events = 0;
  private order = 0;
  private readonly queue = new TinyQueue<Moment>([], byTime);

  /** Milliseconds since the simulation began. */
  get elapsed(): number {
    return this.now - beginning;
  }

  after(ms: number, run: () => void): Cancel {
    const moment: Moment = { at: this.now + Math.ceil(Math.max(0, ms)), order: ++this.order, run };
    this.queue.push(moment);
    return () => {
      moment.run = undefined;
    };
  }

  /** Runs the next event, and then everything that follows from it without needing time. False when there is none. */
  async step(until: number): Promise<boolean> {
    for (;;) {
      const next = this.queue.peek();
      if (!next || next.at > until) return false;
      this.queue.pop();
      const { run } = next;
      if (!run) continue;
      this.now = Math.max(this.now, next.at);
      this.events++;
      run();
      // Twice: what a worker puts off until all that came with a message is counted has run by then.
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
      return true;
    }
  }
}

function byTime(a: Moment, b: Moment): number {
  return a.at - b.at || a.order - b.order;
}
