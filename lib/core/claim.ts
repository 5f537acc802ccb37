import type { FlowPlan } from '../plan';
import { firstChainOf } from './child';
import type { ClaimCommand } from './command';
import type { PendingMessages, Task } from './effect';
import type { Execution, LockClaim } from './execution';
import { routeDefinition } from './failure-route';
import { keyOf, nameOf, type Payload } from './payload';
import { methodPlan } from './policy';
import type { RunState } from './run-state';
import { firedAt, scheduleIdOf } from './schedule-state';
import { claimsForExecute } from './step';
import type { Turn } from './turn';

/** What a peek may see of a Channel. */
const peekMessages = 100;
const peekBytes = 256 * 1024;

/** Hands a call out if it is still to be had (X4): saves the start with its token and gives the worker all it needs. */
export function claim(turn: Turn, command: ClaimCommand): void {
  const execution = claimable(turn, command);
  if (!execution || !takesItsLocks(turn, execution)) {
    turn.effects.push({ kind: 'claimRefused', worker: command.worker, token: command.token });
    return;
  }
  const call = execution.call!;
  const { timeoutMs } = methodPlan(turn.plan, execution, call.method);
  turn.emit({
    kind: 'AttemptStarted',
    execution: execution.id,
    method: call.method,
    attempt: call.attempt + 1,
    token: command.token,
    worker: command.worker,
    plan: turn.plan.fingerprint,
    durability: call.durability,
    dueAt: turn.now + timeoutMs,
  });
  const task = taskOf(turn.run, turn.plan, turn.run.executions.get(execution.id)!, turn.names);
  turn.effects.push({ kind: 'handOut', worker: command.worker, durability: call.durability, task });
}

/**
 * Whether a call has the locks that the claiming worker's code takes (L1). If another version scheduled it with others, it
 * queues for these; a call that was handed out before keeps what it has, with its snapshot (L4).
 */
function takesItsLocks(turn: Turn, execution: Execution): boolean {
  const call = execution.call!;
  if (call.method !== 'execute' || call.snapshot !== null) return true;
  const wanted = claimsForExecute(turn, execution);
  if (!Array.isArray(wanted)) {
    routeDefinition(turn, execution, 'execute', wanted);
    return false;
  }
  if (sameLocks(wanted, call.locks)) return true;
  turn.emit({ kind: 'LocksReturned', execution: execution.id, locks: wanted });
  return false;
}

function sameLocks(some: readonly LockClaim[], others: readonly LockClaim[]): boolean {
  if (some.length !== others.length) return false;
  return some.every(({ address, mode }) => others.some((other) => other.address === address && other.mode === mode));
}

function claimable(turn: Turn, command: ClaimCommand): Execution | undefined {
  const run = turn.flow.run;
  if (!run?.isTaking || run.head.runId !== command.runId) return undefined;
  const execution = run.executions.get(command.execution);
  const call = execution?.call;
  if (!execution || call?.issue !== command.issue || !turn.plan.steps[execution.step]) return undefined;
  const due = call.state === 'ready' || (call.state === 'backoff' && call.dueAt !== null && call.dueAt <= turn.now);
  return due ? execution : undefined;
}

/**
 * The task of a running call; the same for every attempt but for attempt, token and deadline (S3, S6).
 *
 * @param plan in the words of the run (`storedPlan`).
 */
export function taskOf(run: RunState, plan: FlowPlan, execution: Execution, names = run.head.names): Task {
  const call = execution.call!;
  const step = plan.steps[execution.step];
  const wonConditions = execution.won?.conditions ?? [];
  return {
    flowId: run.head.flowId,
    runId: run.head.runId,
    chainId: run.head.chainId,
    originId: firstChainOf(run.head),
    flow: run.head.flow,
    execution: execution.id,
    step: execution.step,
    method: call.method,
    attempt: call.attempt,
    token: call.token!,
    input: execution.input === null ? null : run.payloadOf(execution.input),
    from: execution.from,
    attributes: (step?.attributes ?? []).flatMap((name) => attributeValues(run, name, execution)),
    channels: pendingOf(run, step?.channels ?? [], call.snapshot!),
    received: (execution.won?.messages ?? []).map(([condition, keys]) => {
      const spec = wonConditions[condition]!;
      return [spec.kind === 'channel' ? spec.address : '', keys.map((key) => run.messages.get(key)!.value)] as const;
    }),
    fired: (execution.won?.fired ?? []).map((condition) => wonConditions[condition]!.id),
    subFlows: wonConditions.flatMap((condition) => {
      const child = condition.kind === 'subFlow' ? run.children.get(condition.key) : undefined;
      return child?.outcome && child.closedIn! <= call.snapshot!
        ? [[condition.id, child.flowId, child.outcome] as const]
        : [];
    }),
    ...originOf(run),
    locals: Object.fromEntries(Object.entries(execution.locals).map(([name, kept]) => [name, run.payloadOf(kept)])),
    locks: call.locks,
    recovery: execution.recovery,
    waitFailed: execution.waitFailed,
    lastHeartbeat: call.heartbeat === null ? null : run.payloadOf(call.heartbeat),
    heartbeatTimeoutMs: methodPlan(plan, execution, call.method).heartbeatTimeoutMs,
    dueAt: call.dueAt,
    ...(names && { names }),
    ...(run.head.trace && { trace: run.head.trace }),
  };
}

/** What a run is started by, if by no client. */
function originOf({ head }: RunState): Pick<Task, 'parent' | 'schedule'> {
  const [first] = head.parents;
  if (!first) return { parent: null, schedule: null };
  const schedule = scheduleIdOf(first.flowId);
  if (schedule === undefined) return { parent: { flowId: first.flowId }, schedule: null };
  return { parent: null, schedule: { id: schedule, at: firedAt(first.key) } };
}

/** Values of one Attribute at the call's snapshot; of a map locked by key, only the entry that the call holds (L1). */
function attributeValues(run: RunState, name: string, execution: Execution): (readonly [string, Payload])[] {
  const call = execution.call!;
  const lockedKeys = call.locks.filter(({ address }) => nameOf(address) === name && keyOf(address) !== undefined);
  const addresses = lockedKeys.length > 0 ? lockedKeys.map(({ address }) => address) : run.attributes.addressesOf(name);
  const values: (readonly [string, Payload])[] = [];
  for (const address of addresses) {
    const value = run.attributes.read(address, call.snapshot!);
    if (value !== undefined) values.push([address, value]);
  }
  return values;
}

/** Unread messages of Channels at a snapshot: how many, and the first. */
export function pendingOf(run: RunState, names: readonly string[], snapshot: number): PendingMessages[] {
  const pending: PendingMessages[] = [];
  if (names.length === 0) return pending;
  for (const [address, keys] of run.unreadAt(snapshot)) {
    if (!names.includes(nameOf(address))) continue;
    const first: Payload[] = [];
    let bytes = 0;
    for (const key of keys) {
      const { value } = run.messages.get(key)!;
      bytes += value.length;
      if (first.length === peekMessages || (first.length > 0 && bytes > peekBytes)) break;
      first.push(value);
    }
    pending.push({ address, size: keys.size, first });
  }
  return pending;
}
