import type { Class } from '../ports';
import { ownMetadata } from './own-metadata';

/** What `@Lock…` said about one constructor parameter; `mode` as given, also from untyped code. */
export interface LockMark {
  readonly index: number;
  readonly mode: unknown;
  readonly key: string | undefined;
}

const locks = ownMetadata<readonly LockMark[]>('locks');

/** All marks are kept, so that two on one parameter can be reported. */
export function recordLock(type: Class, mark: LockMark): void {
  locks.write(type, [mark, ...(locks.read(type) ?? [])]);
}

/** Marks on the class's own constructor. */
export function readLocks(type: Class): readonly LockMark[] {
  return locks.read(type) ?? [];
}
