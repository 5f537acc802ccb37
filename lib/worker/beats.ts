import type { Beat } from '../dispatch';
import type { Cancel, Clock } from '../ports';
import type { InHand, InHands } from './in-hand';

/** Heartbeat values go out at most this often (X3). */
const throttleMs = 1_000;
/** A result without an answer is sent again after this time (X5). */
const resendMs = 3_000;

/**
 * Tells the shards that this process lives: by itself, at a third of the shortest heartbeat timeout in hand, while its event
 * loop turns (X2). Carries heartbeat values, and sends results again that were not taken.
 */
export class Beats {
  private readonly sentAt = new Map<number, number>();
  /** Beats without a token since a shard's last task ended. */
  private readonly quiet = new Map<number, number>();
  private cancelNext: Cancel | undefined;
  private nextAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly process: string,
    private readonly held: InHands,
    private readonly clock: Clock,
    private readonly send: (shard: number, beat: Beat) => void,
    private readonly resend: (inHand: InHand) => void,
  ) {}

  /** A task has come into hand. */
  watch(inHand: InHand): void {
    const now = this.clock.monotonic();
    if (!this.sentAt.has(inHand.shard)) this.sentAt.set(inHand.shard, now);
    this.arm(now + inHand.heartbeatTimeoutMs / 3);
  }

  /** A heartbeat value wants to go out. */
  soon(inHand: InHand): void {
    this.arm((this.sentAt.get(inHand.shard) ?? 0) + throttleMs);
  }

  /** A result has gone out: it goes again if nobody takes it. */
  resendLater(): void {
    this.arm(this.clock.monotonic() + resendMs);
  }

  close(): void {
    this.cancelNext?.();
    this.cancelNext = undefined;
  }

  private arm(at: number): void {
    if (at >= this.nextAt) return;
    this.nextAt = at;
    this.cancelNext?.();
    this.cancelNext = this.clock.after(Math.max(0, at - this.clock.monotonic()), () => this.look());
  }

  private look(): void {
    this.nextAt = Number.POSITIVE_INFINITY;
    const now = this.clock.monotonic();
    const byShard = new Map<number, InHand[]>();
    for (const inHand of this.held.all()) {
      const others = byShard.get(inHand.shard);
      if (others) others.push(inHand);
      else byShard.set(inHand.shard, [inHand]);
    }
    for (const [shard, held] of byShard) this.beat(shard, held, now);
    for (const shard of this.sentAt.keys()) if (!byShard.has(shard)) this.beatIdle(shard, now);
  }

  /** Two more beats, by which the owner sees whether a task it has sent since got lost. */
  private beatIdle(shard: number, now: number): void {
    const beats = (this.quiet.get(shard) ?? 0) + 1;
    this.send(shard, { kind: 'beat', process: this.process, tokens: [], values: [] });
    if (beats < 2) {
      this.quiet.set(shard, beats);
      this.arm(now + resendMs);
      return;
    }
    this.quiet.delete(shard);
    this.sentAt.delete(shard);
  }

  private beat(shard: number, held: readonly InHand[], now: number): void {
    const values = held.flatMap((inHand) => {
      const { unsentValue, flowId, name, token } = inHand;
      inHand.unsentValue = undefined;
      return unsentValue && !inHand.result ? [{ flowId, execution: name, token, value: unsentValue.value }] : [];
    });
    this.send(shard, { kind: 'beat', process: this.process, tokens: held.map(({ token }) => token), values });
    this.sentAt.set(shard, now);
    this.quiet.delete(shard);
    for (const inHand of held) if (inHand.result && now - inHand.sentAt >= resendMs) this.resend(inHand);
    const shortest = Math.min(...held.map(({ heartbeatTimeoutMs }) => heartbeatTimeoutMs));
    const pending = held.some(({ result }) => result);
    this.arm(now + Math.min(shortest / 3, pending ? resendMs : Number.POSITIVE_INFINITY));
  }
}
