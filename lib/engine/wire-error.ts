import type { WireError } from '../dispatch';
import { HoldfastError } from '../errors';
import { toFailure } from '../values';

/** An error as it travels to a client. */
export function wireError(error: unknown): WireError {
  if (!(error instanceof HoldfastError)) {
    return { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };
  }
  const { code, message, where, fix, cause } = error;
  return {
    code,
    message,
    ...(where === undefined ? {} : { where }),
    fix,
    ...(cause === undefined ? {} : { failure: toFailure(cause) }),
  };
}
