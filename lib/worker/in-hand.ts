import type { Outcome, Payload } from '../core';
import type { CallResult, Result } from '../dispatch';

/** One attempt or call in a worker's hands, until its result was taken. */
export interface InHand {
  readonly shard: number;
  readonly token: string;
  /** What it is reported by: the attempt of a Step, or a call. */
  readonly of: 'result' | 'callResult';
  readonly flowId: string;
  /** The Step execution, or the RPC. */
  readonly name: string;
  readonly heartbeatTimeoutMs: number;
  readonly abort: AbortController;
  /** Set when the handler has ended; sent until the engine has taken it (X5). */
  result: Result | CallResult | undefined;
  sentAt: number;
  /** Newest heartbeat value that no beat has carried yet (X3). */
  unsentValue: { readonly value: Payload | null } | undefined;
  lastValue: { readonly value: Payload | null } | undefined;
}

/** Tokens remembered after their end, so that a hand-out that comes late does not run again. */
const rememberedTokens = 20_000;

/** What a worker process has in hand; it runs a token at most once (X5). */
export class InHands {
  private readonly held = new Map<string, InHand>();
  private readonly ended = new Set<string>();
  private readonly idle: (() => void)[] = [];

  /** undefined where the token runs already or has run. */
  begin(task: Pick<InHand, 'shard' | 'token' | 'of' | 'flowId' | 'name' | 'heartbeatTimeoutMs'>): InHand | undefined {
    if (this.held.has(task.token) || this.ended.has(task.token)) return undefined;
    const inHand: InHand = {
      ...task,
      abort: new AbortController(),
      result: undefined,
      sentAt: 0,
      unsentValue: undefined,
      lastValue: undefined,
    };
    this.held.set(task.token, inHand);
    return inHand;
  }

  get(token: string): InHand | undefined {
    return this.held.get(token);
  }

  all(): IterableIterator<InHand> {
    return this.held.values();
  }

  get size(): number {
    return this.held.size;
  }

  /** How many handlers run. */
  running(of: 'result' | 'callResult'): number {
    let running = 0;
    for (const { result, of: kind } of this.held.values()) if (!result && kind === of) running++;
    return running;
  }

  end(token: string): void {
    this.held.delete(token);
    this.ended.add(token);
    if (this.ended.size > rememberedTokens) {
      const [oldest] = this.ended;
      this.ended.delete(oldest!);
    }
    if (this.held.size === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  /** Resolves when nothing is in hand. */
  async none(): Promise<void> {
    if (this.held.size > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }
}

/** The outcome of a task that is given back (X6). */
export function returned({ lastValue }: InHand, entered: boolean): Outcome {
  return { kind: 'returned', entered, ...(lastValue && { heartbeat: lastValue.value }) };
}
