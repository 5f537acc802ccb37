import type { Command, FlowState } from '../core';

/** Commands that wait for the end of a transactional call, or of a start that depends on a call (R7, R10). */
export class Deferred {
  private readonly waiting = new Map<string, (() => void)[]>();

  /** True if the command has to wait; `run` is then called when it may go on. */
  hold(flow: FlowState, command: Command, run: () => void): boolean {
    if (!mustWait(flow, command)) return false;
    const { flowId } = flow.head;
    const waiting = this.waiting.get(flowId);
    if (waiting) waiting.push(run);
    else this.waiting.set(flowId, [run]);
    return true;
  }

  /** Goes on with what waits, as soon as nothing of this flow stands in its way. */
  resume({ head, run, pending }: FlowState): void {
    if (pending || (run && run.window !== null)) return;
    const waiting = this.waiting.get(head.flowId) ?? [];
    this.waiting.delete(head.flowId);
    for (const go of waiting) go();
  }
}

function mustWait({ run, pending }: FlowState, command: Command): boolean {
  const alone = pending ? [...pending.run.calls.keys()][0]! : (run?.window ?? null);
  if (alone === null || command.kind === 'heartbeat' || command.kind === 'workerGone') return false;
  if (command.kind === 'callStart' || command.kind === 'callResult' || command.kind === 'callGone') {
    return command.requestId !== alone;
  }
  // It ends the call as well (O3).
  if (command.kind === 'stop' && command.how === 'terminate') return pending !== undefined;
  // Publishes are saved meanwhile and seen after (R7); calls queue.
  return pending !== undefined || (command.kind !== 'publish' && command.kind !== 'call');
}
