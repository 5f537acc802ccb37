import type { Cancel, Clock, SlotKey, Slots } from '../ports';
import { issueId, type ReadyCall } from './ready-pool';

/** Slots are asked for again, and those that are held are kept, this often. */
const askMs = 500;
const keepMs = 5_000;
/** Calls under one key that ask at a time. */
const perAsk = 100;

interface Waiting {
  readonly of: SlotKey;
  readonly limit: number;
  readonly calls: Map<string, ReadyCall>;
  asking: boolean;
}

/**
 * The slots by key that the calls of one shard hold, of all that there are over all engines (T1). A call has one from before
 * it is offered until its attempt is over in any way, or no worker is there for it.
 */
export class KeyedSlots {
  private readonly held = new Map<string, SlotKey>();
  /** Slots of which it is not known whether they were freed. */
  private readonly unfreed = new Map<string, SlotKey>();
  private readonly holderOf = new Map<string, string>();
  private readonly tokenOf = new Map<string, string>();
  private readonly waiting = new Map<string, Waiting>();
  private cancelAsk: Cancel | undefined;
  private cancelKeep: Cancel | undefined;
  private closed = false;

  constructor(
    private readonly slots: Slots,
    private readonly clock: Clock,
    /** The call has a slot now. */
    private readonly offer: (call: ReadyCall) => void,
  ) {}

  /** Whether the call has a slot; otherwise one is asked for, and the call offered when it has it. */
  admits(call: ReadyCall, of: SlotKey, limit: number): boolean {
    const id = issueId(call);
    if (this.held.has(id)) return true;
    const name = nameOf(of);
    const waiting = this.waiting.get(name) ?? { of, limit, calls: new Map(), asking: false };
    waiting.calls.set(id, call);
    this.waiting.set(name, waiting);
    this.askWithin(0);
    return false;
  }

  has(call: ReadyCall): boolean {
    return this.held.has(issueId(call));
  }

  /** The attempt with this token is the call's. */
  begin(token: string, call: ReadyCall): void {
    this.bind(token, issueId(call));
  }

  /** An attempt runs that began under an earlier owner. */
  holdAgain(token: string, holder: string, of: SlotKey): void {
    this.bind(token, holder);
    this.hold(holder, of);
    this.slots.keep(of, [holder]);
  }

  over(token: string): void {
    const holder = this.holderOf.get(token);
    if (holder === undefined) return;
    this.holderOf.delete(token);
    this.tokenOf.delete(holder);
    this.free(holder);
  }

  /** The call is not offered any more, or not now. */
  leave(call: ReadyCall): void {
    const id = issueId(call);
    for (const [name, { calls }] of this.waiting) if (calls.delete(id) && calls.size === 0) this.waiting.delete(name);
    this.free(id);
  }

  /** Slots stay with their calls, for the next owner to keep. */
  close(): void {
    this.closed = true;
  }

  /** A claim that came twice is refused, and does not take the slot from the attempt that runs. */
  private bind(token: string, holder: string): void {
    if (this.tokenOf.has(holder)) return;
    this.holderOf.set(token, holder);
    this.tokenOf.set(holder, token);
  }

  private hold(holder: string, of: SlotKey): void {
    this.held.set(holder, of);
    this.cancelKeep ??= this.clock.after(keepMs, () => this.keep());
  }

  private free(holder: string): void {
    const of = this.held.get(holder);
    if (!of || this.closed) return;
    this.held.delete(holder);
    this.release(holder, of);
    if (this.waiting.has(nameOf(of))) this.askWithin(0);
  }

  private release(holder: string, of: SlotKey): void {
    this.slots.free(of, holder).catch(() => {
      if (this.closed) return;
      this.unfreed.set(holder, of);
      this.cancelKeep ??= this.clock.after(keepMs, () => this.keep());
    });
  }

  private askWithin(ms: number): void {
    if (this.closed) return;
    this.cancelAsk?.();
    this.cancelAsk = this.clock.after(ms, () => {
      this.cancelAsk = undefined;
      for (const waiting of this.waiting.values()) this.ask(waiting);
      if (this.waiting.size > 0) this.askWithin(askMs);
    });
  }

  private ask(waiting: Waiting): void {
    if (waiting.asking) return;
    waiting.asking = true;
    const { of, limit, calls } = waiting;
    const asked = [...calls.keys()].slice(0, Math.min(limit, perAsk));
    this.slots
      .take(of, limit, asked)
      .then(
        (got) => this.got(waiting, got),
        // Asked for again.
        () => {},
      )
      .finally(() => {
        waiting.asking = false;
      });
  }

  private got({ of, calls }: Waiting, holders: readonly string[]): void {
    if (this.closed) return;
    for (const holder of holders) {
      const call = calls.get(holder);
      this.hold(holder, of);
      calls.delete(holder);
      if (call) this.offer(call);
      else if (!this.tokenOf.has(holder)) this.free(holder);
    }
    if (calls.size === 0) this.waiting.delete(nameOf(of));
  }

  private keep(): void {
    this.cancelKeep = undefined;
    const unfreed = [...this.unfreed];
    this.unfreed.clear();
    for (const [holder, of] of unfreed) if (!this.held.has(holder)) this.release(holder, of);
    const byKey = new Map<string, { of: SlotKey; holders: string[] }>();
    for (const [holder, of] of this.held) {
      const group = byKey.get(nameOf(of)) ?? { of, holders: [] };
      group.holders.push(holder);
      byKey.set(nameOf(of), group);
    }
    for (const { of, holders } of byKey.values()) this.slots.keep(of, holders);
    if (byKey.size > 0) this.cancelKeep = this.clock.after(keepMs, () => this.keep());
  }
}

function nameOf({ taskQueue, key }: SlotKey): string {
  return `${taskQueue}\u0000${key}`;
}
