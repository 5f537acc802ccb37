import type { StepContext } from '../../../authoring';
import type { CallTask, Task } from '../../../core';
import type { SimProcess } from '../sim-process';
import type { BodyRun, CallRun, Journal } from './journal';
import type { NodeInput, Program, ProgramNode, Programs } from './program';
import type { CallSeen, Seen } from './seen';

/** What a handler of the workload is given besides its state: its process's clock, and the journal outside of the system. */
export class Probe {
  constructor(
    private readonly process: SimProcess,
    private readonly journal: Journal,
    private readonly programs: Programs,
    private readonly task: Task | CallTask,
  ) {}

  program({ flowId }: Pick<StepContext, 'flowId'>): Program {
    return this.programs.get(flowId)!;
  }

  timeoutNode(ctx: StepContext): ProgramNode {
    const { nodes, timeoutNode } = this.program(ctx);
    return nodes[timeoutNode!]!;
  }

  node(ctx: StepContext, input: NodeInput): ProgramNode {
    const nodes = this.programs.nodesOf(input);
    const node = nodes[input.node]!;
    return ctx.recovery && node.rescue !== null ? nodes[node.rescue]! : node;
  }

  enter(seen: Seen): BodyRun {
    const { process } = this;
    const task = this.task as Task;
    const enteredAt = process.parts.timeline.now;
    const body: BodyRun = { task, process, enteredAt, seen, beats: [], ended: undefined };
    process.parts.note(
      process,
      `enters ${task.flowId} ${task.execution}.${task.method} #${task.attempt} ${task.token}`,
    );
    this.journal.enter(body);
    return body;
  }

  /** The body of an RPC or Query begins. */
  enterCall(seen: CallSeen): CallRun {
    const { process } = this;
    const task = this.task as CallTask;
    const run: CallRun = { task, process, seen, ended: undefined };
    process.parts.note(process, `enters ${task.flowId} ${task.rpc} ${task.requestId} ${task.token}`);
    this.journal.enterCall(run);
    return run;
  }

  /** The node of an index, to go to. */
  nodeAt(ctx: Pick<StepContext, 'flowId'>, index: number): ProgramNode {
    return this.program(ctx).nodes[index]!;
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
