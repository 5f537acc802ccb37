import type { Decision } from '../lib/authoring';
import { recordMember } from '../lib/metadata';

/** Marks the protected method of a Flow class that runs once at the Flow's deadline and may decide anything (F7). */
export function OnTimeout() {
  return (
    prototype: object,
    method: string | symbol,
    _descriptor: { value?: (...args: never[]) => Decision | Promise<Decision> },
  ): void => recordMember(prototype, { kind: 'onTimeout', method });
}
