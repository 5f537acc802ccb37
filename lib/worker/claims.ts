import type { Compiled } from '../compiler';
import type { Claim, Hint, HoldfastDispatch, SlotOffer } from '../dispatch';
import type { Cancel, Clock, HintReader, Subscription } from '../ports';

/** A claim without an answer is sent again after this time: before the heartbeat of a hand-out that Redis lost is over. */
const repeatMs = 1_000;
/** A hint that came when all slots were taken goes back to the others after this time. */
const keptMs = 1_000;

export interface ClaimParts {
  readonly process: string;
  readonly compiled: Compiled;
  readonly dispatch: HoldfastDispatch;
  readonly clock: Clock;
  readonly slots: number;
  readonly wanted: Subscription;
  /** Handlers that run now. */
  running(): number;
  send(shard: number, claim: Claim): void;
}

/**
 * Finds work for a worker that engines do not feed by themselves: reads hints while slots are free, and claims their calls.
 * A slot named in a message stays reserved until the answer, so that nothing is taken on that could not be run.
 */
export class Claims {
  private reader: HintReader<Hint> | undefined;
  /** Slots kept free for what a shard may answer, by claim or token. */
  private readonly reserved = new Map<string, number>();
  private readonly pending = new Map<string, Claim>();
  /** Hints whose attempts run, by token. */
  private readonly running = new Map<string, Hint>();
  private kept: Hint[] = [];
  private made = 0;
  private planned = false;
  private stopped = false;
  private cancelRepeat: Cancel | undefined;
  private cancelKept: Cancel | undefined;
  private readonly settled: (() => void)[] = [];

  constructor(private readonly parts: ClaimParts) {}

  open(): void {
    const { dispatch, process, wanted } = this.parts;
    this.reader = dispatch.openHints(process, wanted, (hint) => this.take(hint));
    this.lookLater();
  }

  /** What a result names: the slot that it frees, and a share of the other free ones. */
  offer(token: string): SlotOffer {
    const { taskQueues } = this.parts.wanted;
    let free = this.reserved.get(token);
    if (free === undefined) {
      const left = this.free();
      free = !this.stopped && left > 0 ? 1 + Math.floor((left - 1) / 4) : 0;
      this.reserved.set(token, free);
    }
    return { free, taskQueues: taskQueues === 'calls' ? [] : taskQueues };
  }

  /** The result was taken; what the shard gave for the slots it named has come with it. */
  taken(token: string, accepted: boolean): void {
    // The owner may have forgotten with a write that failed that it gave the call away, and think that it is offered still.
    if (accepted) this.ended(token);
    else this.end(token, (reader, hint) => reader.giveBack(hint));
    this.reserved.delete(token);
    this.lookLater();
  }

  /** The attempt counts no more, though its handler may run on: others may have its place on a limited task queue (T2). */
  ended(token: string): void {
    this.end(token, (reader, hint) => reader.ended(hint));
  }

  /** A claim was answered, by a hand-out or by a refusal: its hint is nobody's any more, or goes to others. */
  answered(id: string, token?: string): void {
    const claim = this.pending.get(id);
    if (!claim) return;
    this.pending.delete(id);
    this.reserved.delete(id);
    this.reader?.done(claim.hint);
    if (token === undefined) this.reader?.ended(claim.hint);
    else this.running.set(token, claim.hint);
    this.lookLater();
    if (this.pending.size === 0) for (const resolve of this.settled.splice(0)) resolve();
  }

  /** Sends again what a shard has not answered: it did not know a plan. */
  repeat(shard: number): void {
    for (const claim of this.pending.values()) if (claim.hint.shard === shard) this.parts.send(shard, claim);
  }

  /** Claims nothing more; resolves when all claims are answered, or after `ms`. */
  async stop(ms: number): Promise<void> {
    const { reader } = this;
    if (!reader || this.stopped) return;
    this.stopped = true;
    reader.want(0);
    for (const hint of this.kept.splice(0)) reader.giveBack(hint);
    if (this.pending.size > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.parts.clock.after(ms, resolve);
        this.settled.push(() => {
          cancel();
          resolve();
        });
      });
    }
    for (const { hint } of this.pending.values()) reader.giveBack(hint);
    reader.close();
    this.cancelRepeat?.();
    this.cancelKept?.();
  }

  private end(token: string, how: (reader: HintReader<Hint>, hint: Hint) => void): void {
    const hint = this.running.get(token);
    this.running.delete(token);
    if (hint && this.reader) how(this.reader, hint);
  }

  private free(): number {
    let reserved = 0;
    for (const slots of this.reserved.values()) reserved += slots;
    return this.parts.slots - this.parts.running() - reserved;
  }

  private take(hint: Hint): void {
    if (this.stopped) return this.reader?.giveBack(hint);
    if (this.free() > 0) return this.claim(hint);
    this.kept.push(hint);
    this.cancelKept ??= this.parts.clock.after(keptMs, () => {
      this.cancelKept = undefined;
      for (const late of this.kept.splice(0)) this.reader?.giveBack(late);
    });
  }

  private claim(hint: Hint): void {
    const { process, compiled, send } = this.parts;
    const id = `${process}.${this.parts.wanted.taskQueues === 'calls' ? 'c' : ''}${++this.made}`;
    const { fingerprint } = compiled.flowNamed(hint.flow)!.plan;
    const claim: Claim = { kind: 'claim', id, process, hint, flowId: hint.flowId, plan: fingerprint };
    this.pending.set(id, claim);
    this.reserved.set(id, 1);
    send(hint.shard, claim);
    this.repeatLater();
  }

  private repeatLater(): void {
    this.cancelRepeat ??= this.parts.clock.after(repeatMs, () => {
      this.cancelRepeat = undefined;
      // Those made since are sent once too often; the owner knows them.
      for (const claim of this.pending.values()) this.parts.send(claim.hint.shard, claim);
      if (this.pending.size > 0) this.repeatLater();
    });
  }

  /** Later, so that everything which came in one message has been counted. */
  private lookLater(): void {
    if (this.planned || this.stopped) return;
    this.planned = true;
    setImmediate(() => {
      this.planned = false;
      if (this.stopped) return;
      while (this.kept.length > 0 && this.free() > 0) this.claim(this.kept.shift()!);
      this.reader?.want(Math.max(0, this.free()));
    });
  }
}
