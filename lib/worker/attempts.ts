import type { Outcome, Payload, Task } from '../core';

/** One task in a worker's hands, until its result was taken. */
export interface Attempt {
  readonly shard: number;
  readonly task: Task;
  readonly abort: AbortController;
  /** Set when the handler has ended; sent until the engine has taken it (X5). */
  outcome: Outcome | undefined;
  sentAt: number;
  /** Newest heartbeat value that no beat has carried yet (X3). */
  unsentValue: { readonly value: Payload | null } | undefined;
  lastValue: { readonly value: Payload | null } | undefined;
}

/** Tokens remembered after their end, so that a hand-out that comes late does not run again. */
const rememberedTokens = 20_000;

/** The attempts of a worker process; it runs a token at most once (X5). */
export class Attempts {
  private readonly attempts = new Map<string, Attempt>();
  private readonly ended = new Set<string>();
  private readonly idle: (() => void)[] = [];

  /** undefined where the token runs already or has run. */
  begin(shard: number, task: Task): Attempt | undefined {
    if (this.attempts.has(task.token) || this.ended.has(task.token)) return undefined;
    const attempt: Attempt = {
      shard,
      task,
      abort: new AbortController(),
      outcome: undefined,
      sentAt: 0,
      unsentValue: undefined,
      lastValue: undefined,
    };
    this.attempts.set(task.token, attempt);
    return attempt;
  }

  get(token: string): Attempt | undefined {
    return this.attempts.get(token);
  }

  all(): IterableIterator<Attempt> {
    return this.attempts.values();
  }

  get size(): number {
    return this.attempts.size;
  }

  end(token: string): void {
    this.attempts.delete(token);
    this.ended.add(token);
    if (this.ended.size > rememberedTokens) {
      const [oldest] = this.ended;
      this.ended.delete(oldest!);
    }
    if (this.attempts.size === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  /** Resolves when nothing is in hand. */
  async none(): Promise<void> {
    if (this.attempts.size > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }
}
