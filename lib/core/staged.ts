import { HoldfastError } from '../errors';
import type { FlowPlan } from '../plan';
import { checkAttribute, checkChannel } from './declared';
import type { Staged } from './event';
import type { LockClaim } from './execution';
import { limits } from './limits';
import { keyOf, nameOf, type Payload } from './payload';
import type { RunState } from './run-state';

/** Throws unless all that a call staged is declared, within the limits, and under the locks it holds (S8, L1, P9). */
export function checkStaged(
  plan: FlowPlan,
  run: RunState,
  who: string,
  locks: readonly LockClaim[],
  staged: Staged,
): void {
  atMost(staged.publishes.length, limits.publishesPerCall, 'messages in one call');
  atMost(run.tables.messages.size + staged.publishes.length, limits.unreadMessages, 'unread messages');
  for (const [address] of staged.publishes) checkChannel(plan, address);
  for (const [address] of staged.attributes) {
    checkAttribute(plan, address);
    const declared = plan.attributes[nameOf(address)]!;
    if (declared.lock !== 'none' && !holdsExclusive(locks, address)) {
      throw new HoldfastError(
        'DEFINITION',
        `${who} wrote the locked Attribute ${nameOf(address)} without holding its exclusive lock.`,
        {
          where: who,
          fix: 'Write it where its exclusive lock is held: in execute, or in an RPC that names it in locks.',
        },
      );
    }
  }
}

/** Throws if a command or result as a whole is above the limit (P9). */
export function checkBytes(parts: Iterable<Payload | null | undefined>, what: string): void {
  let bytes = 0;
  for (const part of parts) bytes += part?.length ?? 0;
  if (bytes <= limits.commandBytes) return;
  throw new HoldfastError('LIMIT_EXCEEDED', `${what} carries ${bytes} bytes; the limit is ${limits.commandBytes}.`);
}

export function bytesOfStaged(staged: Staged): (Payload | null)[] {
  return [
    ...staged.attributes.map(([, value]) => value),
    ...staged.publishes.map(([, value]) => value),
    ...Object.values(staged.locals),
    ...staged.recorded.map(({ data }) => data),
  ];
}

export function atMost(count: number, limit: number, what: string): void {
  if (count > limit) throw new HoldfastError('LIMIT_EXCEEDED', `${count} ${what}; the limit is ${limit}.`);
}

function holdsExclusive(locks: readonly LockClaim[], address: string): boolean {
  return locks.some(
    (lock) =>
      lock.mode === 'exclusive' &&
      (lock.address === address || (keyOf(lock.address) === undefined && lock.address === nameOf(address))),
  );
}
