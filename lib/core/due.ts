import { timeoutStep } from '../plan';
import { callsAgain } from './call';
import { closeRun, failRun } from './close';
import type { DueCommand, HeartbeatCommand, WorkerGoneCommand } from './command';
import type { Execution } from './execution';
import { failAttempt } from './failure-route';
import { limits } from './limits';
import { lookAtAll } from './look-at-all';
import { deadlineKey } from './run-state';
import { fireDue } from './schedule';
import { readyEffect, scheduleStep, startByOf } from './step';
import type { Turn } from './turn';
import { tryWait } from './wait';

/** Does what has become due: timers, ends of back-off and delay, attempts and queue times that ran out, idle locks. */
export function due(turn: Turn, { all }: DueCommand): void {
  fireDue(turn);
  const run = turn.flow.run;
  if (!run?.isOpen) return;
  if (all) lookAtAll(turn);
  for (const id of run.due.takeDue(turn.now)) {
    if (!run.isOpen) return;
    if (id === deadlineKey) {
      timeOutFlow(turn);
      continue;
    }
    const execution = run.executions.get(id);
    if (execution) look(turn, execution);
    if (run.executions.get(id) === execution) run.rearm(id, turn.now);
  }
}

/** The deadline of the Flow has come: its policy decides (F7). */
function timeOutFlow(turn: Turn): void {
  if (!turn.run.isTaking) return;
  const { onTimeout } = turn.plan;
  if (onTimeout === 'handler') {
    scheduleStep(turn, { step: timeoutStep, input: null, overrides: null }, { kind: 'timeout' });
    return;
  }
  const failure = { name: 'FlowTimeout', message: 'The Flow did not end within its timeout.' };
  if (onTimeout === 'cancel') closeRun(turn, 'cancelled', null, failure);
  else failRun(turn, 'timeout', failure);
}

function look(turn: Turn, execution: Execution): void {
  const { call, id } = execution;
  const passed = call?.dueAt != null && call.dueAt <= turn.now;
  switch (call?.state) {
    case undefined:
      tryWait(turn, id);
      return;
    case 'delayed':
      if (passed) {
        turn.emit({ kind: 'StepDue', execution: id, startBy: startByOf(turn, execution, call.method, call.locks) });
      }
      return;
    case 'backoff':
      if (!passed) return;
      turn.run.retrying.add(id);
      turn.effects.push(readyEffect(turn, execution));
      return;
    case 'running':
      if (passed) {
        turn.effects.push({ kind: 'abort', worker: call.worker!, token: call.token!, reason: 'the attempt timed out' });
        timeOut(turn, execution, 'MethodTimeout', 'did not end within its timeout', true);
      }
      return;
    case 'ready':
      if (passed) return timeOut(turn, execution, 'StartTimeout', 'was not taken by a worker in time', false);
      // One that was entered keeps its locks with what it saw.
      if (call.entered || call.locks.length === 0 || turn.now < call.since + limits.lockIdleMs) return;
      if (turn.run.locks.isWanted(id)) {
        turn.emit({ kind: 'LocksReturned', execution: id });
      }
  }
}

function timeOut(turn: Turn, execution: Execution, name: string, what: string, retryable: boolean): void {
  failAttempt(turn, execution, {
    failure: { name, message: `${execution.id}.${execution.call!.method} ${what}.` },
    retryable,
    failKind: 'worker',
    retryAfterMs: null,
  });
}

/** Fails the attempts of a worker that was silent for longer than they allow; the policy decides what follows (X2). */
export function workerGone(turn: Turn, { worker, tokens, silentMs }: WorkerGoneCommand): void {
  callsAgain(turn, worker, tokens);
  const run = turn.flow.run;
  if (!run?.isTaking) return;
  for (const id of [...run.running]) {
    const execution = run.executions.get(id);
    const call = execution?.call;
    if (!execution || call?.worker !== worker) continue;
    if (tokens && !tokens.includes(call.token!)) continue;
    const what = silentMs === null ? 'is gone' : `was not heard of for ${silentMs} ms`;
    turn.effects.push({ kind: 'abort', worker, token: call.token!, reason: 'the worker was taken for dead' });
    failAttempt(turn, execution, {
      failure: { name: 'WorkerLost', message: `The worker that ran ${id}.${call.method} ${what}.` },
      retryable: true,
      failKind: 'worker',
      retryAfterMs: null,
    });
    if (!run.isTaking) return;
  }
}

/** Remembers the newest value of a heartbeat for the next attempt; causes no event and no write (X3). */
export function heartbeat(turn: Turn, { execution, token, value }: HeartbeatCommand): void {
  const run = turn.flow.run;
  if (run?.executions.get(execution)?.call?.token === token) run.heartbeats.set(token, value);
}
