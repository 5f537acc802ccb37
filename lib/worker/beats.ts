import type { Beat } from '../dispatch';
import type { Cancel, Clock } from '../ports';
import type { Attempt, Attempts } from './attempts';

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
  private cancelNext: Cancel | undefined;
  private nextAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly process: string,
    private readonly attempts: Attempts,
    private readonly clock: Clock,
    private readonly send: (shard: number, beat: Beat) => void,
    private readonly resend: (attempt: Attempt) => void,
  ) {}

  /** A task has come into hand. */
  watch(attempt: Attempt): void {
    const now = this.clock.monotonic();
    if (!this.sentAt.has(attempt.shard)) this.sentAt.set(attempt.shard, now);
    this.arm(now + attempt.task.heartbeatTimeoutMs / 3);
  }

  /** A heartbeat value wants to go out. */
  soon(attempt: Attempt): void {
    this.arm((this.sentAt.get(attempt.shard) ?? 0) + throttleMs);
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
    const byShard = new Map<number, Attempt[]>();
    for (const attempt of this.attempts.all()) {
      const others = byShard.get(attempt.shard);
      if (others) others.push(attempt);
      else byShard.set(attempt.shard, [attempt]);
    }
    for (const [shard, attempts] of byShard) this.beat(shard, attempts, now);
    for (const shard of this.sentAt.keys()) if (!byShard.has(shard)) this.sentAt.delete(shard);
  }

  private beat(shard: number, attempts: readonly Attempt[], now: number): void {
    const values = attempts.flatMap((attempt) => {
      const { unsentValue, task } = attempt;
      attempt.unsentValue = undefined;
      const { flowId, execution, token } = task;
      return unsentValue && !attempt.outcome ? [{ flowId, execution, token, value: unsentValue.value }] : [];
    });
    this.send(shard, { kind: 'beat', process: this.process, tokens: attempts.map(({ task }) => task.token), values });
    this.sentAt.set(shard, now);
    for (const attempt of attempts) if (attempt.outcome && now - attempt.sentAt >= resendMs) this.resend(attempt);
    const shortest = Math.min(...attempts.map(({ task }) => task.heartbeatTimeoutMs));
    const pending = attempts.some(({ outcome }) => outcome);
    this.arm(now + Math.min(shortest / 3, pending ? resendMs : Number.POSITIVE_INFINITY));
  }
}
