import TinyQueue from 'tinyqueue';

interface Due {
  readonly at: number;
  readonly execution: string;
}

/** When the executions of a run next need a look. Entries go stale when an execution changes and are skipped then. */
export class DueQueue {
  private queue = new TinyQueue<Due>([], byTime);
  private readonly current = new Map<string, number>();

  set(execution: string, at: number | null): void {
    if (at === null) {
      this.current.delete(execution);
      return;
    }
    if (this.current.get(execution) === at) return;
    this.current.set(execution, at);
    this.queue.push({ at, execution });
    if (this.queue.length > 2 * this.current.size + 64) this.rebuild();
  }

  next(): number | null {
    this.dropStale();
    return this.queue.peek()?.at ?? null;
  }

  /** Takes out all that is due, earliest first. An execution comes back only when it is set again. */
  takeDue(now: number): string[] {
    const due: string[] = [];
    for (;;) {
      this.dropStale();
      const head = this.queue.peek();
      if (!head || head.at > now) return due;
      this.queue.pop();
      this.current.delete(head.execution);
      due.push(head.execution);
    }
  }

  private dropStale(): void {
    for (let head = this.queue.peek(); head && this.current.get(head.execution) !== head.at; head = this.queue.peek()) {
      this.queue.pop();
    }
  }

  private rebuild(): void {
    this.queue = new TinyQueue(
      [...this.current].map(([execution, at]) => ({ at, execution })),
      byTime,
    );
  }
}

function byTime(a: Due, b: Due): number {
  return a.at - b.at;
}
