import type { FlowPlan } from '../plan';
import type { ReadyEffect } from './effect';
import type { RunState } from './run-state';
import { methodPlan } from './policy';

/** What a run still has to be done for it, derived from its state: a new owner issues it again. */
export interface Outstanding {
  /** Calls that a worker may take. */
  readonly ready: readonly ReadyEffect[];
  /** Attempts in the hands of workers. */
  readonly running: readonly { readonly execution: string; readonly worker: string; readonly token: string }[];
  /** When the run next needs a look, or null: never by itself. */
  readonly nextDueAt: number | null;
}

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
      const { worker, token } = run.executions.get(id)!.call!;
      return { execution: id, worker: worker!, token: token! };
    }),
    nextDueAt: run.due.next(),
  };
}
