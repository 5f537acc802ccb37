import type { LockClaim } from '../core';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';

/** What one call of user code may touch. */
export interface CallScope {
  /** For messages, e.g. `Ship-1.execute`. */
  readonly label: string;
  /** The class whose constructor declares it. */
  readonly owner: string;
  readonly attributes: readonly string[];
  readonly channels: readonly string[];
  readonly locks: readonly LockClaim[];
  /** A Query, or a validator: writes are an error (R2, R4). */
  readonly readOnly: boolean;
}

export function notTaken({ owner }: CallScope, type: Class): HoldfastError {
  return new HoldfastError('DEFINITION', `${owner} does not take ${type.name} in its constructor.`, {
    where: owner,
    fix: `Take ${type.name} as a parameter of the constructor of ${owner}.`,
  });
}

export function refuseReadOnly({ readOnly, label, owner }: CallScope, what: string): void {
  if (!readOnly) return;
  throw new HoldfastError('DEFINITION', `${label} wrote ${what}: it may only read.`, {
    where: owner,
    fix: 'Mark the method @Rpc if it has to write; a Query or a validator leaves everything as it is.',
  });
}
