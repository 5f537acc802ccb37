import type { RunState } from '../core';
import type { ShardInbox } from '../dispatch';
import type { Clock } from '../ports';
import type { HeldBack } from './held-back';
import { forgottenMs, type WorkerRegistry } from './worker-registry';

/** Tells the Steps of a run that no worker has (V3). */
export class Lacking {
  private readonly openedAt: number;

  constructor(
    private readonly clock: Clock,
    private readonly workers: WorkerRegistry,
    private readonly heldBack: HeldBack,
    private readonly inbox: Pick<ShardInbox, 'isHeard'>,
  ) {
    this.openedAt = clock.monotonic();
  }

  of({ ready, executions, head }: RunState): string[] {
    const lacked = new Set(this.heldBack.stepsOf(head.runId));
    for (const step of new Set([...ready].map((id) => executions.get(id)!.step))) {
      if (this.isLacked(head.flow, step)) lacked.add(step);
    }
    return [...lacked];
  }

  /** Whether a living worker is known to have the Step. */
  hasTaker(flow: string, step: string): boolean {
    return this.workers.lack(flow, step, this.clock.monotonic()) === false;
  }

  isLacked(flow: string, step: string): boolean {
    const now = this.clock.monotonic();
    // Where nobody is known, somebody may only not have said so yet.
    const isQuiet = this.inbox.isHeard && now > this.openedAt + forgottenMs;
    return this.workers.lack(flow, step, now) ?? isQuiet;
  }
}
