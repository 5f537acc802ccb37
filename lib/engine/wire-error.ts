import type { WireError } from '../dispatch';
import { HoldfastError } from '../errors';

/** An error as it travels to a client. */
export function wireError(error: unknown): WireError {
  if (error instanceof HoldfastError) {
    return {
      code: error.code,
      message: error.message,
      ...(error.where === undefined ? {} : { where: error.where }),
      fix: error.fix,
    };
  }
  return { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };
}
