import type { LockRequest } from '../authoring';
import type { LockPlan } from '../plan/plan';
import type { Class } from '../ports';
import type { AttributeUse } from './collect';
import { show } from './finding';
import { OptionReader } from './read-options';

export const lockModes = ['none', 'shared', 'exclusive'] as const;

/** What lowering needs to know of an Attribute that is locked. */
export interface Lockable {
  readonly name: string;
  readonly map: boolean;
  readonly lock: (typeof lockModes)[number];
}

export type FindLockable = (type: Class) => Lockable | undefined;

/**
 * The locks of a call: those of `base`, where the requests say nothing about the same Attribute (L1). A request without a
 * mode takes the Attribute's own, and `exclusive` where that is `none`: whoever asks for a lock wants one.
 */
export function lowerLockRequests(
  requests: readonly LockRequest[] | undefined,
  base: readonly LockPlan[],
  find: FindLockable,
  read: OptionReader,
): readonly LockPlan[] {
  if (requests === undefined) return base;
  if (!Array.isArray(requests)) {
    read.bad('BAD_VALUE', '', requests, 'a list of Attributes', 'Give a list, e.g. locks: [Balance].');
    return base;
  }
  const named = new Set<string>();
  const locks = requests.flatMap((request: LockRequest, index) => {
    const lock = lowerRequest(request, find, read.at(index));
    if (lock === undefined) return [];
    named.add(lock.attribute);
    return lock.mode === 'none' ? [] : [{ ...lock, mode: lock.mode }];
  });
  reportDoubles(locks, read);
  return [...base.filter((lock) => !named.has(lock.attribute)), ...locks];
}

/** The locks that a Step's constructor declares (L1). */
export function lowerConstructorLocks(
  uses: readonly AttributeUse[],
  find: FindLockable,
  read: OptionReader,
): readonly LockPlan[] {
  return uses.flatMap(({ type, lock: mark, index }) => {
    const attribute = find(type);
    if (!attribute) return [];
    const at = new OptionReader(`${read.where}, parameter ${index + 1} (${attribute.name})`, read.report);
    const mode = mark ? at.oneOf('lock', mark.mode, lockModes, 'none') : attribute.lock;
    const keyPath = lowerKey(mark?.key, attribute, at);
    return mode === 'none' || keyPath === undefined ? [] : [{ attribute: attribute.name, mode, keyPath }];
  });
}

function lowerRequest(request: LockRequest, find: FindLockable, read: OptionReader) {
  const type = typeof request === 'function' ? request : request?.attribute;
  const options = typeof request === 'function' ? {} : read.object(request, ['attribute', 'mode', 'key']);
  const attribute = typeof type === 'function' ? find(type as Class) : undefined;
  if (!attribute) {
    read.report({
      code: 'BAD_LOCK',
      where: read.where,
      found: typeof type === 'function' ? `${show(type)}, which is none that this Flow uses` : show(type),
      expected: 'an Attribute that a Step or the Flow takes in its constructor',
      fix: 'Name the Attribute class, and take it where it is used.',
    });
    return undefined;
  }
  const own = attribute.lock === 'none' ? 'exclusive' : attribute.lock;
  const mode = options.mode === undefined ? own : read.oneOf('mode', options.mode, lockModes, 'none');
  const keyPath = lowerKey(options.key, attribute, read);
  return keyPath === undefined ? undefined : { attribute: attribute.name, mode, keyPath };
}

/** undefined for a key that was reported. */
function lowerKey(key: unknown, attribute: Lockable, read: OptionReader): string | null | undefined {
  if (key === undefined) return null;
  if (!attribute.map) {
    read.report({
      code: 'BAD_LOCK',
      where: read.where,
      found: `a key, ${show(key)}, for ${attribute.name}, which is a single value`,
      expected: 'a key only for an Attribute that extends DurableAttributeMap',
      fix: 'Leave the key out.',
    });
    return undefined;
  }
  if (typeof key === 'string' && key.split('.').every((part) => part !== '')) return key;
  read.bad('BAD_VALUE', 'key', key, "a dotted path into the input, e.g. 'order.accountId'", 'Give such a path.');
  return undefined;
}

/** The same entry twice, or an entry beside the whole map, would wait for itself. */
function reportDoubles(locks: readonly LockPlan[], read: OptionReader): void {
  for (const [index, lock] of locks.entries()) {
    const earlier = locks.slice(0, index).find((each) => each.attribute === lock.attribute && overlap(each, lock));
    if (!earlier) continue;
    read.report({
      code: 'DOUBLE_LOCK',
      where: read.where,
      found: `${lock.attribute} (${describe(earlier)}) and again ${lock.attribute} (${describe(lock)})`,
      expected: 'one lock for each Attribute, or for each entry of a map',
      fix: 'Keep one of them.',
    });
  }
}

function overlap(a: LockPlan, b: LockPlan): boolean {
  return a.keyPath === b.keyPath || a.keyPath === null || b.keyPath === null;
}

function describe(lock: LockPlan): string {
  return lock.keyPath === null ? lock.mode : `${lock.mode}, key ${lock.keyPath}`;
}
