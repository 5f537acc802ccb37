import type { Task } from '../core';

interface Attempt {
  readonly flowId: string;
  readonly heartbeatTimeoutMs: number;
  /** Silence before it was handed out is not held against it. */
  since: number;
  /** Beats since the hand-out; a first beat may have been sent before the task came. */
  beats: number;
}

interface Holder {
  heardAt: number;
  readonly attempts: Map<string, Attempt>;
}

/** A worker that was silent for longer than some of its attempts allow. */
export interface Silence {
  readonly process: string;
  readonly silentMs: number;
  readonly flowIds: readonly string[];
  readonly tokens: readonly string[];
}

/**
 * The attempts of one shard that are in the hands of workers, and when each worker was last heard of. Starts afresh with
 * every session, so that a take-over or an outage burns no attempt (X2).
 */
export class HandedOut {
  private readonly holders = new Map<string, Holder>();
  private readonly processOf = new Map<string, string>();

  add(process: string, task: Pick<Task, 'flowId' | 'heartbeatTimeoutMs' | 'token'>, now: number): void {
    const { flowId, heartbeatTimeoutMs } = task;
    const holder = this.holders.get(process) ?? { heardAt: now, attempts: new Map() };
    holder.attempts.set(task.token, { flowId, heartbeatTimeoutMs, since: now, beats: 0 });
    this.holders.set(process, holder);
    this.processOf.set(task.token, process);
  }

  has(token: string): boolean {
    return this.processOf.has(token);
  }

  remove(token: string): void {
    const process = this.processOf.get(token);
    if (process === undefined) return;
    this.processOf.delete(token);
    const holder = this.holders.get(process)!;
    holder.attempts.delete(token);
    if (holder.attempts.size === 0) this.holders.delete(process);
  }

  /** Takes a beat; gives the attempts that the worker does not know of, whose tasks must have got lost. */
  heard(process: string, tokens: readonly string[], now: number): { token: string; flowId: string }[] {
    const holder = this.holders.get(process);
    if (!holder) return [];
    holder.heardAt = now;
    const known = new Set(tokens);
    const lost: { token: string; flowId: string }[] = [];
    for (const [token, attempt] of holder.attempts) {
      if (known.has(token)) continue;
      attempt.beats++;
      if (attempt.beats > 1) lost.push({ token, flowId: attempt.flowId });
    }
    return lost;
  }

  /**
   * Workers that have been silent for too long. Time in which the owner itself stood still, or could not hear, does not
   * count: `stillMs` of it have passed since the look before.
   */
  overdue(now: number, stillMs: number): Silence[] {
    const silences: Silence[] = [];
    for (const [process, holder] of this.holders) {
      if (stillMs > 0) standStill(holder, stillMs);
      const silentMs = now - holder.heardAt;
      const silent = [...holder.attempts].filter(
        ([, { since, heartbeatTimeoutMs }]) => heartbeatTimeoutMs <= now - Math.max(since, holder.heardAt),
      );
      if (silent.length === 0) continue;
      const flowIds = new Set(silent.map(([, { flowId }]) => flowId));
      silences.push({ process, silentMs, flowIds: [...flowIds], tokens: silent.map(([token]) => token) });
    }
    return silences;
  }

  /** The shortest heartbeat timeout there is, or null where nothing is handed out. */
  shortestTimeoutMs(): number | null {
    let shortest: number | null = null;
    for (const { attempts } of this.holders.values()) {
      for (const { heartbeatTimeoutMs } of attempts.values()) {
        if (shortest === null || heartbeatTimeoutMs < shortest) shortest = heartbeatTimeoutMs;
      }
    }
    return shortest;
  }
}

function standStill(holder: Holder, ms: number): void {
  holder.heardAt += ms;
  for (const attempt of holder.attempts.values()) attempt.since += ms;
}
