import type { Cancel, Clock } from '../ports';
import { issueId, type ReadyCall } from './ready-pool';

/** Delays before a call is offered again: they double. */
interface Delays {
  readonly firstMs: number;
  readonly longestMs: number;
}

const withoutTaker: Delays = { firstMs: 1_000, longestMs: 30_000 };
/** One that has the Step only has to be quicker than those that do not. */
const withTaker: Delays = { firstMs: 100, longestMs: 2_000 };

interface Held {
  readonly call: ReadyCall;
  delayMs: number;
  hasTaker: boolean;
  offerAgain: () => void;
  cancel: Cancel | undefined;
}

/** Calls that a worker claimed without having their Step: offered again later, and sooner where another has it (V3). */
export class HeldBack {
  private readonly held = new Map<string, Held>();

  constructor(private readonly clock: Clock) {}

  /** `hasTaker`: a living worker is known to have the Step. */
  hold(call: ReadyCall, hasTaker: boolean, offerAgain: () => void): void {
    const id = issueId(call);
    const held: Held = this.held.get(id) ?? { call, delayMs: 0, hasTaker, offerAgain, cancel: undefined };
    if (held.cancel) return;
    held.hasTaker = hasTaker;
    const { firstMs, longestMs } = hasTaker ? withTaker : withoutTaker;
    held.delayMs = Math.min(Math.max(firstMs, 2 * held.delayMs), longestMs);
    this.arm(held);
    this.held.set(id, held);
  }

  /** A process has come that may run these calls. */
  expect(isTaken: (call: ReadyCall) => boolean): void {
    for (const held of this.held.values()) {
      if (held.hasTaker || !isTaken(held.call)) continue;
      held.hasTaker = true;
      held.delayMs = withTaker.firstMs;
      held.cancel?.();
      this.arm(held);
    }
  }

  /** Whether the call is not to be offered now. */
  isHeld(call: ReadyCall): boolean {
    return this.held.get(issueId(call))?.cancel !== undefined;
  }

  /** A worker has taken it, or nobody needs it any more. */
  remove(call: Pick<ReadyCall, 'runId' | 'execution' | 'issue'>): void {
    const id = issueId(call);
    this.held.get(id)?.cancel?.();
    this.held.delete(id);
  }

  /** Steps of a run that wait for a worker that has them. */
  stepsOf(runId: string): string[] {
    return [...new Set([...this.held.values()].flatMap(({ call }) => (call.runId === runId ? [call.step] : [])))];
  }

  private arm(held: Held): void {
    held.cancel = this.clock.after(held.delayMs, () => {
      held.cancel = undefined;
      held.offerAgain();
    });
  }
}
