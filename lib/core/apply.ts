import { timeoutStep } from '../plan';
import { applySubFlow } from './apply-subflow';
import type { CallTerms, Event, FlowStarted, Staged, StepScheduled, WaitForCompleted, WaitSatisfied } from './event';
import { type Call, type Execution, untried } from './execution';
import type { Payload } from './payload';
import { deadlineKey, RunState } from './run-state';

/** The run that a `FlowStarted` event begins. */
export function begin(event: FlowStarted & { readonly at: number }): RunState {
  const run = new RunState({
    flowId: event.flowId,
    runId: event.runId,
    chainId: event.runId,
    generation: 1,
    previousRunId: null,
    nextRunId: null,
    flow: event.flow,
    plan: event.plan,
    status: 'running',
    failKind: null,
    failure: null,
    config: event.config,
    startedAt: event.at,
    closedAt: null,
    deadlineAt: event.deadlineAt,
    events: 1,
    base: 0,
    rolledTo: 0,
    seq: 0,
    counters: {},
    completing: false,
    closeChecks: [],
    closing: null,
    parents: event.parent ? [event.parent] : [],
    ...(event.names && { names: event.names }),
    ...(event.trace && { trace: event.trace }),
  });
  for (const [address, value] of event.attributes) run.writeAttribute(address, value);
  return run;
}

/** Changes the run as the event says. Deterministic: the same events give the same state, and nothing else is looked at. */
export function apply(run: RunState, event: Event): void {
  run.head = { ...run.head, events: run.head.events + 1 };
  switch (event.kind) {
    case 'FlowStarted':
    case 'RunContinued':
    case 'TimeTravelled':
      throw new TypeError(`${event.kind} begins a run and is not applied to one`);
    case 'RunReplaced':
      run.head = { ...run.head, nextRunId: event.nextRunId };
      return;
    case 'HistoryRolled':
      run.head = { ...run.head, rolledTo: run.head.events };
      return;
    case 'ConfigChanged':
      run.head = { ...run.head, config: event.config };
      return;
    case 'NamesLearned':
      run.head = { ...run.head, names: event.names };
      return;
    case 'StepScheduled':
      return schedule(run, event);
    case 'StepDue': {
      const locked = run.executions.get(event.execution)!.call!.locks.length > 0;
      return changeCall(run, event.execution, {
        state: locked ? 'locked' : 'ready',
        issue: run.nextSeq(),
        since: event.at,
        dueAt: locked ? null : event.startBy,
      });
    }
    case 'LocksGranted':
      return changeCall(run, event.execution, { state: 'ready', since: event.at, dueAt: event.startBy });
    case 'LocksReturned':
      return changeCall(run, event.execution, {
        state: event.locks?.length === 0 ? 'ready' : 'locked',
        issue: run.nextSeq(),
        since: event.at,
        dueAt: null,
        // Nobody has entered it yet: it sees what those write who have the locks before it (L4).
        snapshot: null,
        ...(event.locks && { locks: event.locks }),
      });
    case 'AttemptStarted':
      if (event.plan !== run.head.plan) run.head = { ...run.head, plan: event.plan };
      return changeCall(run, event.execution, {
        state: 'running',
        attempt: event.attempt,
        token: event.token,
        worker: event.worker,
        since: event.at,
        firstAt: run.executions.get(event.execution)!.call!.firstAt ?? event.at,
        snapshot: run.executions.get(event.execution)!.call!.snapshot ?? run.head.events,
        dueAt: event.dueAt,
      });
    case 'AttemptFailed':
      if (event.heartbeat !== undefined) keepHeartbeat(run, event.execution, event.heartbeat);
      // Without a next attempt, the event that follows in the same turn says what becomes of the execution.
      return changeCall(run, event.execution, {
        state: 'backoff',
        issue: run.nextSeq(),
        token: null,
        worker: null,
        since: event.at,
        dueAt: event.retryAt,
        lastFailure: event.failure,
        entered: true,
      });
    case 'AttemptReturned': {
      if (event.heartbeat !== undefined) keepHeartbeat(run, event.execution, event.heartbeat);
      const { attempt, entered } = run.executions.get(event.execution)!.call!;
      return changeCall(run, event.execution, {
        state: 'ready',
        issue: run.nextSeq(),
        attempt: attempt - 1,
        token: null,
        worker: null,
        since: event.at,
        dueAt: event.startBy,
        entered: entered || event.entered,
      });
    }
    case 'WaitForCompleted':
      return beginWait(run, event);
    case 'WaitForProceeded': {
      const execution = run.executions.get(event.execution)!;
      run.dropKept(execution.call?.heartbeat ?? null);
      const call = newCall(run, event.call, event.at);
      return run.setExecution({ ...execution, call, waitFailed: event.failure });
    }
    case 'WaitSatisfied':
      return endWait(run, event);
    case 'ExecuteCompleted':
      applyStaged(run, event.staged, event.execution, 'execute', event.at);
      if (event.output !== undefined) run.addOutput(event.execution, event.output);
      if (event.decision === 'gracefulComplete') run.head = { ...run.head, completing: true };
      if (event.check) run.head = { ...run.head, closeChecks: [...run.head.closeChecks, event.check] };
      return run.dropExecution(event.execution);
    case 'RpcCompleted':
      for (const id of event.deleted) run.messages.remove(id, run.head.events);
      return applyStaged(run, event.staged, `rpc/${event.requestId}`, event.rpc, event.at);
    case 'ChildRequested':
    case 'ChildAdmitted':
    case 'ChildStopAsked':
    case 'ChildStarted':
    case 'ChildClosed':
    case 'ParentAttached':
    case 'OutcomeDelivered':
      return applySubFlow(run, event);
    case 'CloseChecked': {
      const [check, ...rest] = run.head.closeChecks;
      run.head = { ...run.head, closeChecks: rest };
      if (event.empty && check!.output !== null) run.addOutput(check!.execution, check!.output);
      return;
    }
    case 'FlowClosing': {
      const { status, failKind, failure } = event;
      run.head = { ...run.head, closing: { status, failKind, failure } };
      return;
    }
    case 'StepFailed':
    case 'StepCancelled':
      return run.dropExecution(event.execution);
    case 'MessagePublished':
      return run.addMessage(event.messageId, event.address, event.value, event.at);
    case 'TimerSkipped': {
      const execution = run.executions.get(event.execution)!;
      const wait = execution.wait!;
      return run.setExecution({ ...execution, wait: { ...wait, skipped: [...wait.skipped, event.condition] } });
    }
    case 'FlowClosed':
      run.head = {
        ...run.head,
        status: event.status,
        failKind: event.failKind,
        failure: event.failure,
        closedAt: event.at,
        nextRunId: event.nextRunId ?? null,
        // The next run of a chain has them.
        closing: null,
        closeChecks: event.status === 'continuedAsNew' ? run.head.closeChecks : [],
      };
      run.due.set(deadlineKey, null);
  }
}

function schedule(run: RunState, event: StepScheduled & { at: number }): void {
  const { counters } = run.head;
  run.head = { ...run.head, counters: { ...counters, [event.step]: (counters[event.step] ?? 0) + 1 } };
  if (event.step === timeoutStep) run.due.set(deadlineKey, null);
  const seq = run.nextSeq();
  const call = newCall(run, event.call, event.at);
  run.setExecution({
    seq,
    id: event.execution,
    step: event.step,
    input: event.input === null ? null : run.keep(event.input),
    from: event.from,
    overrides: event.overrides,
    locals: {},
    recovery: event.recovery,
    waitFailed: null,
    wait: null,
    won: null,
    call: event.notBefore === null ? call : { ...call, state: 'delayed', dueAt: event.notBefore },
  });
}

function newCall(run: RunState, { method, durability, locks, startBy }: CallTerms, at: number): Call {
  return {
    method,
    durability,
    state: locks.length > 0 ? 'locked' : 'ready',
    issue: run.nextSeq(),
    ...untried,
    locks,
    since: at,
    dueAt: locks.length > 0 ? null : startBy,
  };
}

function keepHeartbeat(run: RunState, id: string, heartbeat: Payload | null): void {
  run.dropKept(run.executions.get(id)!.call!.heartbeat);
  changeCall(run, id, { heartbeat: heartbeat === null ? null : run.keep(heartbeat) });
}

function changeCall(run: RunState, id: string, change: Partial<Call>): void {
  const execution = run.executions.get(id)!;
  run.setExecution({ ...execution, call: { ...execution.call!, ...change } });
}

function beginWait(run: RunState, event: WaitForCompleted & { at: number }): void {
  applyStaged(run, event.staged, event.execution, 'waitFor', event.at);
  const execution = run.executions.get(event.execution)!;
  run.dropKept(execution.call!.heartbeat);
  const locals: Record<string, Execution['locals'][string]> = {};
  for (const [name, value] of Object.entries(event.staged.locals)) locals[name] = run.keep(value);
  run.setExecution({
    ...execution,
    locals,
    call: null,
    wait: {
      conditions: event.conditions,
      candidates: event.candidates,
      skipped: [],
      since: event.at,
      issue: run.nextSeq(),
    },
  });
}

function endWait(run: RunState, event: WaitSatisfied & { at: number }): void {
  const execution = run.executions.get(event.execution)!;
  const { conditions, candidates } = execution.wait!;
  for (const [, keys] of event.messages) for (const key of keys) run.messages.consume(key);
  run.setExecution({
    ...execution,
    wait: null,
    won: {
      at: run.head.events,
      conditions,
      candidate: candidates[event.candidate]!,
      messages: event.messages,
      fired: event.fired,
    },
    call: newCall(run, event.call, event.at),
  });
}

function applyStaged(run: RunState, staged: Staged, execution: string, method: string, at: number): void {
  for (const [address, value] of staged.attributes) run.writeAttribute(address, value);
  staged.publishes.forEach(([address, value], i) => {
    run.addMessage(`${execution}/${method}/${i}`, address, value, at);
  });
}
