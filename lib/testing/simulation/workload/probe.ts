import type { StepContext } from '../../../authoring';
import type { Task } from '../../../core';
import type { SimProcess } from '../sim-process';
import type { BodyRun, Journal } from './journal';
import type { ProgramNode, Programs } from './program';
import type { Seen } from './seen';

/** What a handler of the workload is given besides its state: its process's clock, and the journal outside of the system. */
export class Probe {
  constructor(
    private readonly process: SimProcess,
    private readonly journal: Journal,
    private readonly programs: Programs,
    private readonly task: Task,
  ) {}

  node(ctx: StepContext, input: { readonly node: number }): ProgramNode {
    const { nodes } = this.programs.get(ctx.flowId)!;
    const node = nodes[input.node]!;
    return ctx.recovery && node.rescue !== null ? nodes[node.rescue]! : node;
  }

  enter(seen: Seen): BodyRun {
    const { process, task } = this;
    const enteredAt = process.parts.timeline.now;
    const body: BodyRun = { task, process, enteredAt, seen, beats: [], ended: undefined };
    process.parts.note(
      process,
      `enters ${task.flowId} ${task.execution}.${task.method} #${task.attempt} ${task.token}`,
    );
    this.journal.enter(body);
    return body;
  }

  /** The node of an index, to go to. */
  nodeAt(ctx: StepContext, index: number): ProgramNode {
    return this.programs.get(ctx.flowId)!.nodes[index]!;
  }

  /** Sleeps, unless the signal aborts and is listened to; deaf handlers sleep on. */
  sleep(ms: number, signal: AbortSignal, deaf: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.process.clock.after(ms, resolve);
      if (deaf) return;
      const stop = () => {
        cancel();
        reject(signal.reason);
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }
}
