import type { Event } from '../../../core';
import { decode } from '../../../values';
import { attemptFailed, attemptReturned, attemptStarted, locksGranted, locksReturned } from './call-events';
import type { Check, Witness } from './check';
import type { ExecutionModel } from './execution-model';
import type { RunModel } from './run-model';
import {
  executeCompleted,
  stepCancelled,
  stepFailed,
  stepScheduled,
  waitForCompleted,
  waitSatisfied,
} from './step-events';
import { place } from './wait-model';

/** Judges one event of a run's durable history, and takes it over. */
export function takeEvent(run: RunModel, event: Event, witness: Witness): void {
  const check: Check = (condition, rule, what) => {
    if (!condition) witness.violated(rule, `${run.program.flowId}: ${what}`);
    return condition;
  };
  run.events++;
  check(event.at >= run.lastAt, 'W6', `${event.kind} came at ${event.at}, after ${run.lastAt}`);
  run.lastAt = event.at;
  check(run.isOpen, 'O1', `${event.kind} came after the run had closed`);
  if (run.closing) check(event.kind === 'FlowClosed', 'D3', `${event.kind} came while the run was closing`);
  const { execution: id } = event as { execution?: string };
  if (id === undefined || event.kind === 'StepScheduled') return takeOwn(run, event, check, witness);
  const execution = run.executions.get(id);
  const how = run.ended.get(id);
  if (
    !check(
      execution !== undefined,
      how === 'cancelled' ? 'O1' : 'P6',
      `${event.kind} of ${id}, which ${how ?? 'is unknown'}`,
    )
  ) {
    return;
  }
  takeOfExecution(run, execution!, event, check, witness);
  if ('staged' in event) rememberAttributes(run);
}

function takeOfExecution(run: RunModel, execution: ExecutionModel, event: Event, check: Check, witness: Witness): void {
  switch (event.kind) {
    case 'StepDue': {
      const call = execution.call!;
      check(call.state === 'delayed' && event.at >= call.notBefore, 'F6', `${execution.id} is due too early`);
      call.state = call.locks.length > 0 ? 'locked' : 'ready';
      call.since = event.at;
      if (call.state === 'locked') run.locks.wait(execution.id, call.locks);
      return;
    }
    case 'LocksGranted':
      return locksGranted(run, execution, event, check);
    case 'LocksReturned':
      return locksReturned(run, execution, event, check);
    case 'AttemptStarted':
      return attemptStarted(run, execution, event, check, witness);
    case 'AttemptFailed':
      return attemptFailed(run, execution, event, check, witness);
    case 'AttemptReturned':
      return attemptReturned(execution, event, check, witness);
    case 'WaitForCompleted':
      return waitForCompleted(run, execution, event, check, witness);
    case 'WaitForProceeded': {
      const proceeds = execution.call?.exhausted && execution.options.onWaitForFailure === 'proceed';
      check(proceeds === true, 'X7', `${execution.id} proceeded`);
      run.beginCall(execution, 'execute', event.at, null);
      return;
    }
    case 'WaitSatisfied':
      return waitSatisfied(run, execution, event, check);
    case 'ExecuteCompleted':
      return executeCompleted(run, execution, event, check, witness);
    case 'StepFailed':
      return stepFailed(run, execution, event, check, witness);
    case 'StepCancelled':
      return stepCancelled(run, execution, event, check, witness);
    case 'TimerSkipped': {
      const { wait } = execution;
      wait!.skipped.add(wait!.conditions.findIndex(({ id }) => id === wait!.stored[event.condition]));
      run.skipped.add(execution.id);
      return;
    }
    default:
      check(false, 'model', `the model does not know ${event.kind}`);
  }
}

function takeOwn(run: RunModel, event: Event, check: Check, witness: Witness): void {
  switch (event.kind) {
    case 'FlowStarted':
      check(run.events === 1, 'F5', 'the run started twice');
      run.durability = event.config.durability;
      for (const [address, value] of event.attributes) run.write(address, value === null ? null : decode(value));
      return rememberAttributes(run);
    case 'StepScheduled':
      if (event.from.kind === 'failure') {
        check(
          run.ended.get(event.from.stepExecutionId) === 'failed',
          'X8',
          `${event.execution} recovers what did not fail`,
        );
      }
      return stepScheduled(run, event, check);
    case 'MessagePublished':
      check(!run.messageIds.has(event.messageId), 'C3', `the message ${event.messageId} was stored twice`);
      run.messageIds.add(event.messageId);
      check(place(event.address) !== '', 'C5', 'a message without a Channel');
      return run.publish(event.address, decode(event.value) as string);
    case 'ConfigChanged':
      run.durability = event.config.durability;
      return;
    case 'CloseChecked': {
      const asked = run.closeChecks.shift()!;
      const empty = run.countUnread('Letters') === 0;
      check(event.empty === empty, 'D5', `completeIfEmpty found ${event.empty}, and should have found ${empty}`);
      if (empty) run.forced = 'completed';
      else run.movements = [asked.otherwise];
      return;
    }
    case 'FlowClosing':
      run.closing = event.status;
      return checkClosing(run, event.status, event.failKind, check);
    case 'FlowClosed':
      if (!run.closing) checkClosing(run, event.status, event.failKind, check);
      check(!run.closing || run.closing === event.status, 'D3', `closed as ${event.status}, not ${run.closing}`);
      run.status = event.status;
      run.closing = null;
      run.cancels.clear();
      check(run.executions.size === 0, 'D3', `closed with ${[...run.executions.keys()].join(', ')} open`);
      for (const [, token] of witness.tokens) if (token.runId === run.runId) token.isRunning = false;
      return;
    default:
      check(false, 'model', `the model does not know ${event.kind}`);
  }
}

function checkClosing(run: RunModel, status: string, failKind: string | null, check: Check): void {
  if (status === 'completed') {
    const graceful = run.completing && run.cancelledByClosing === 0;
    check(run.forced === 'completed' || graceful, 'D2', 'the run completed, and no decision says so');
    return;
  }
  const decided = failKind === 'decision' || failKind === 'worker' || failKind === 'definition';
  if (status === 'failed' && decided)
    check(run.forced === 'failed', 'D3', `the run failed (${failKind}), for no reason`);
}

function rememberAttributes(run: RunModel): void {
  run.pastAttributes.push({ event: run.events, shown: run.showAttributes() });
}
