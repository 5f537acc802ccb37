import type { ChildRow } from './child';
import type { RunState } from './run-state';
import type { ChildRequested, SubFlowEvent } from './subflow-event';

/** The part of `apply` that is about SubFlows and parents. */
export function applySubFlow(run: RunState, event: SubFlowEvent): void {
  switch (event.kind) {
    case 'ChildRequested':
      return request(run, event);
    case 'ChildAdmitted':
      return change(run, event.key, { state: 'starting' });
    case 'ChildStopAsked':
      return change(run, event.key, { stop: event.how });
    case 'ChildStarted': {
      const { key, runId, attached } = event;
      run.dropKept(run.children.get(key)!.input);
      // A run that was there before goes on, whatever becomes of the wait (U3).
      const { again: _, ...child } = run.children.get(key)!;
      const stop = attached ? null : child.stop;
      return run.children.set({ ...child, state: 'started', input: null, runId, attached, stop });
    }
    case 'ChildClosed': {
      const { key, outcome } = event;
      const { input, runId } = run.children.get(key)!;
      run.dropKept(input);
      return change(run, key, {
        state: 'closed',
        input: null,
        runId: outcome.runId ?? runId,
        outcome,
        closedIn: run.head.events,
      });
    }
    case 'ParentAttached':
      run.head = { ...run.head, parents: [...run.head.parents, event.parent] };
      return;
    case 'OutcomeDelivered': {
      const parents = run.head.parents.map((link) =>
        link.chainId === event.chainId && link.key === event.key ? { ...link, told: true } : link,
      );
      run.head = { ...run.head, parents };
    }
  }
}

function request(run: RunState, { child, execution, held }: ChildRequested): void {
  const { input, ...rest } = child;
  run.children.set({
    seq: run.nextSeq(),
    ...rest,
    execution,
    input: input === null ? null : run.keep(input),
    state: held ? 'held' : 'starting',
    runId: null,
    attached: false,
    stop: null,
    outcome: null,
    closedIn: null,
  });
}

function change(run: RunState, key: string, fields: Partial<ChildRow>): void {
  run.children.set({ ...run.children.get(key)!, ...fields });
}
