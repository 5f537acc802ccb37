import type { Cancel, Clock } from '../ports';

/** How long engine and worker live. When they die, nothing of theirs comes back and nothing more goes out. */
export class Life {
  private dead = false;
  private readonly endings = new Set<() => void>();

  get isOver(): boolean {
    return this.dead;
  }

  /** Runs when this life ends; gives how to take that back. */
  atEnd(run: () => void): Cancel {
    this.endings.add(run);
    return () => void this.endings.delete(run);
  }

  end(): void {
    if (this.dead) return;
    this.dead = true;
    for (const run of this.endings) run();
    this.endings.clear();
  }

  /** What `act` gives while this life lasts; afterwards neither its value nor its error arrives. */
  async during<T>(act: () => Promise<T>): Promise<T> {
    if (this.dead) return never();
    try {
      const value = await act();
      return this.dead ? await never() : value;
    } catch (error) {
      if (this.dead) return never();
      throw error;
    }
  }

  /** A clock whose timers end with this life. */
  clock(inner: Clock): Clock {
    return {
      now: () => inner.now(),
      monotonic: () => inner.monotonic(),
      after: (delayMs, run) => {
        if (this.dead) return () => {};
        let forget: Cancel = () => {};
        const cancel = inner.after(delayMs, () => {
          forget();
          run();
        });
        forget = this.atEnd(cancel);
        return () => {
          forget();
          cancel();
        };
      },
    };
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
