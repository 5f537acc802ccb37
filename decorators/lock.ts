import { recordLock } from '../lib/metadata';
import type { LockMode } from '../lib/plan/plan';

type Constructor = abstract new (...deps: never[]) => unknown;

/** A decorator for constructor parameters. */
export type LockParameter = (target: Constructor, key: undefined, index: number) => void;

/** The same with its mode, so that one name serves `@Attribute(Lock.exclusive)` and `@Lock.exclusive balance: Balance`. */
export interface LockDecorator {
  (target: Constructor, key: undefined, index: number): void;
  readonly mode: LockMode;
}

function lock(mode: LockMode): LockDecorator;
function lock(mode: LockMode, options: { readonly key: string }): LockParameter;
function lock(mode: LockMode, options?: { readonly key: string }): LockParameter {
  const mark: LockParameter = (target, _key, index) => recordLock(target, { index, mode, key: options?.key });
  return options ? mark : Object.assign(mark, { mode });
}

/**
 * Lock modes (L1): on `@Attribute(Lock.exclusive)` for all Steps that take the Attribute, on a constructor parameter
 * (`@Lock.shared balance: Balance`) for one. `@Lock('exclusive', { key: 'accountId' })` locks one entry of a map, found by a
 * dotted path into the Step's input.
 */
export const Lock = Object.assign(lock, {
  none: lock('none'),
  shared: lock('shared'),
  exclusive: lock('exclusive'),
});
