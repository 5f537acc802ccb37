import type { Client } from '../client';
import { scheduleIdOf } from '../core';
import type { BreakableStore } from './breakable-store';

export interface NextWake {
  /** When a Flow next has something due, after now; undefined for never. */
  readonly at: number | undefined;
  /** Some run has a Step that waits for a worker or is in the hands of one. */
  readonly outstanding: boolean;
}

/** Looks through what is stored for what is due next. */
export async function nextWake(store: BreakableStore, client: Client, now: number): Promise<NextWake> {
  let at = Number.POSITIVE_INFINITY;
  let outstanding = false;
  for await (const wake of store.wakes()) {
    if (wake.at > now) {
      at = Math.min(at, wake.at);
      break;
    }
    if (wake.at > 0) continue;
    // Its record says only that it must be in memory: what is due is in its description.
    outstanding = true;
    // A schedule's next firing is a wake of its own.
    if (scheduleIdOf(wake.flowId) !== undefined) continue;
    const { steps, deadlineAt } = await client.describe(wake.flowId);
    for (const due of [deadlineAt, ...steps.map(({ dueAt }) => dueAt)]) {
      if (due !== null && due > now) at = Math.min(at, due);
    }
  }
  return { at: at === Number.POSITIVE_INFINITY ? undefined : at, outstanding };
}
