import type { FlowPlan } from '../plan';
import { taskOf } from './claim';
import type { ReadyEffect, Task } from './effect';
import { methodPlan } from './policy';
import type { RunState } from './run-state';

/** What a run still has to be done for it, derived from its state: a new owner issues it again. */
export interface Outstanding {
  /** Calls that a worker may take. */
  readonly ready: readonly ReadyEffect[];
  /** Attempts in the hands of workers. */
  readonly running: readonly { readonly worker: string; readonly task: Task }[];
  /** When the run next needs a look, or null: never by itself. */
  readonly nextDueAt: number | null;
}

/** @param plan in the words of the run (`storedPlan`). */
export function outstanding(run: RunState, plan: FlowPlan): Outstanding {
  if (!run.isOpen) return { ready: [], running: [], nextDueAt: null };
  return {
    ready: [...run.ready].map((id) => {
      const execution = run.executions.get(id)!;
      const call = execution.call!;
      const taskQueue = methodPlan(plan, execution, call.method).taskQueue ?? plan.taskQueue;
      return { kind: 'ready', execution: id, issue: call.issue, step: execution.step, taskQueue };
    }),
    running: [...run.running].map((id) => {
      const execution = run.executions.get(id)!;
      return { worker: execution.call!.worker!, task: taskOf(run, plan, execution) };
    }),
    nextDueAt: run.due.next(),
  };
}
