import { HoldfastError } from '../errors';
import type { LockPlan } from '../plan';
import { decode } from '../values';
import type { LockClaim } from './execution';
import { callHolder, callOfHolder } from './open-call';
import { valueAt } from './path';
import { addressOf, type Payload } from './payload';
import { methodPlan } from './policy';
import type { Turn } from './turn';

/** The locks a call takes: those of its plan, a map's entry found by its path into the input (L1). */
export function claimsOf(locks: readonly LockPlan[], input: Payload | null, where: string): LockClaim[] {
  if (locks.length === 0) return [];
  let value: unknown;
  const claims = new Map<string, LockClaim>();
  for (const { attribute, mode, keyPath } of locks) {
    let address = attribute;
    if (keyPath !== null) {
      value ??= input === null ? undefined : decode(input);
      address = addressOf(attribute, keyAt(value, keyPath, attribute, where));
    }
    if (claims.get(address)?.mode !== 'exclusive') claims.set(address, { address, mode });
  }
  return [...claims.values()];
}

function keyAt(input: unknown, path: string, attribute: string, where: string): string {
  const value = valueAt(input, path);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw new HoldfastError(
    'DEFINITION',
    `The lock of ${attribute} is by the key at '${path}' of the input of ${where}, and there is no string or number there.`,
    { where, fix: `Give '${path}' in the input, or lock ${attribute} as a whole.` },
  );
}

/** Grants the locks that have become free, each call all at once and in the order of asking (L2). */
export function grantLocks(turn: Turn): boolean {
  const granted: string[] = [];
  for (const id of turn.wantingLocks)
    if (turn.run.locks.isWaiting(id) && turn.run.locks.canHave(id)) grant(turn, id, granted);
  turn.wantingLocks.clear();
  const freed = [...turn.freedLocks];
  turn.freedLocks.clear();
  for (const address of freed) {
    for (let id = turn.run.locks.grantable(address); id !== undefined; id = turn.run.locks.grantable(address)) {
      grant(turn, id, granted);
    }
  }
  return granted.length > 0;
}

function grant(turn: Turn, id: string, granted: string[]): void {
  granted.push(id);
  const requestId = callOfHolder(id);
  if (requestId !== undefined) return grantCall(turn, requestId);
  const execution = turn.run.executions.get(id)!;
  const { startTimeoutMs } = methodPlan(turn.planFor(execution.step), execution, execution.call!.method);
  turn.emit({
    kind: 'LocksGranted',
    execution: id,
    startBy: startTimeoutMs === null ? null : turn.now + startTimeoutMs,
  });
}

function grantCall(turn: Turn, requestId: string): void {
  const { run } = turn;
  const open = run.calls.get(requestId)!;
  run.locks.leave(callHolder(requestId));
  run.locks.hold(callHolder(requestId), open.locks);
  run.calls.set(requestId, { ...open, state: 'ready' });
  turn.effects.push({ kind: 'callReady', requestId });
}
