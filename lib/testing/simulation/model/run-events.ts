import type { Event } from '../../../core';
import { decode } from '../../../values';
import { flowSettings } from '../workload/program';
import { attemptFailed, attemptReturned, attemptStarted, locksGranted, locksReturned } from './call-events';
import type { Check, Witness } from './check';
import {
  beginChild,
  checkStoppedByParent,
  childClosed,
  childRequested,
  childStarted,
  childStopAsked,
  parentAttached,
} from './child-events';
import type { ExecutionModel } from './execution-model';
import { rpcCompleted } from './rpc-events';
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
  check(run.isOpen || ofClosed.has(event.kind), 'O1', `${event.kind} came after the run had closed`);
  if (run.closing) check(ofClosing.has(event.kind), 'D3', `${event.kind} came while the run was closing`);
  const { execution: id } = event as { execution?: string };
  if (id === undefined || event.kind === 'StepScheduled' || event.kind === 'ChildRequested')
    return takeOwn(run, event, check, witness);
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

/** What may still happen to a run that has closed, and to one that closes (R9). */
const ofClosed: ReadonlySet<Event['kind']> = new Set(['ParentAttached', 'OutcomeDelivered'] as const);
const ofClosing: ReadonlySet<Event['kind']> = new Set([
  ...ofClosed,
  ...(['RpcCompleted', 'ChildStarted', 'ChildClosed', 'HistoryRolled', 'FlowClosed'] as const),
]);

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
      return waitSatisfied(run, execution, event, check, witness);
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
      beginChild(run, event, check, witness);
      takeDeadline(run, event, check);
      run.durability = event.config.durability;
      for (const [address, value] of event.attributes) run.write(address, value === null ? null : decode(value));
      run.retentionMs = event.config.retentionMs;
      return rememberAttributes(run);
    case 'RunContinued':
      return rememberAttributes(run);
    case 'HistoryRolled':
      return;
    case 'RpcCompleted':
      rpcCompleted(run, event, check, witness);
      return rememberAttributes(run);
    case 'ChildRequested':
      return childRequested(run, event, check, witness);
    case 'ChildStopAsked':
      return childStopAsked(run, event, check, witness);
    case 'ChildStarted':
      return childStarted(run, event, check, witness);
    case 'ChildClosed':
      return childClosed(run, event, check, witness);
    case 'ParentAttached':
      return parentAttached(run, event, check, witness);
    case 'OutcomeDelivered': {
      const child = witness.children.get(event.chainId, event.key)!;
      const known = child.outcome !== null || !child.parent.latest.isOpen;
      check(known, 'U5', `it was told that its parent knows how it ended, and ${event.key} is open there`);
      return;
    }
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
      run.messageIds.set(event.messageId, decode(event.value) as string);
      check(place(event.address) !== '', 'C5', 'a message without a Channel');
      return run.publish(event.address, decode(event.value) as string);
    case 'ConfigChanged':
      run.durability = event.config.durability;
      run.retentionMs = event.config.retentionMs;
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
      return checkClosing(run, event, check, witness);
    case 'FlowClosed':
      run.closedAt = event.at;
      if (event.status === 'continuedAsNew') {
        check(run.continuing !== null, 'N2', 'the run was continued, and no decision says so');
        run.status = event.status;
        run.nextRunId = event.nextRunId!;
        return;
      }
      if (!run.closing || event.status === 'terminated') checkClosing(run, event, check, witness);
      else check(run.closing === event.status, 'D3', `closed as ${event.status}, not ${run.closing}`);
      run.status = event.status;
      run.closing = null;
      witness.children.parentClosed(run);
      run.cancels.clear();
      check(run.executions.size === 0, 'D3', `closed with ${[...run.executions.keys()].join(', ')} open`);
      for (const [, token] of witness.tokens) if (token.chainId === run.chainId) token.isRunning = false;
      return;
    default:
      check(false, 'model', `the model does not know ${event.kind}`);
  }
}

type Closing = Event & { readonly kind: 'FlowClosing' | 'FlowClosed' };

function checkClosing(run: RunModel, { status, failKind, failure, at }: Closing, check: Check, witness: Witness): void {
  if (failure?.name === 'FlowTimeout') {
    const policy = flowSettings[run.program.flow].onTimeout === 'cancel' ? 'cancelled' : 'failed';
    const late = run.deadlineAt !== null && at >= run.deadlineAt && status === policy;
    check(late, 'F7', `timed out as ${status} at ${at}, and the deadline is ${run.deadlineAt}`);
  }
  if (failure?.message.startsWith('The parent ')) checkStoppedByParent(run, status, check, witness);
  if (status === 'completed') {
    const graceful = run.completing && run.cancelledByClosing === 0;
    check(run.forced === 'completed' || graceful, 'D2', 'the run completed, and no decision says so');
    return;
  }
  const decided = failKind === 'decision' || failKind === 'worker' || failKind === 'definition';
  if (status === 'failed' && decided)
    check(run.forced === 'failed', 'D3', `the run failed (${failKind}), for no reason`);
}

/** One durable deadline, fixed at the start (F7). */
function takeDeadline(run: RunModel, event: Event & { readonly kind: 'FlowStarted' }, check: Check): void {
  const { timeoutMs = flowSettings[run.program.flow].timeoutMs } = run.program;
  const expected = timeoutMs === null ? null : event.at + timeoutMs;
  check(event.deadlineAt === expected, 'F7', `the deadline is ${event.deadlineAt}, and should be ${expected}`);
  run.deadlineAt = expected;
}

function rememberAttributes(run: RunModel): void {
  run.pastAttributes.push({ event: run.events, shown: run.showAttributes() });
}
