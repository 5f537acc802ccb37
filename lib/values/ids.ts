import { HoldfastError } from '../errors';

/** The longest id in bytes of UTF-8 (F3). */
export const MAX_ID_BYTES = 512;

/**
 * Gives `id` back when it may name something (F3): a non-empty Unicode string of at most 512 bytes of UTF-8 without NUL and
 * without lone surrogates. `what` names it in the error, e.g. `flowId`. Throws `INVALID_ID`.
 */
export function checkId(id: unknown, what: string): string {
  if (typeof id !== 'string') throw invalid(what, `it is ${id === null ? 'null' : `of type ${typeof id}`}`);
  if (id === '') throw invalid(what, 'it is empty');
  // Each UTF-16 unit takes at most three bytes, so most ids need no counting.
  if (id.length * 3 > MAX_ID_BYTES) {
    const bytes = Buffer.byteLength(id);
    if (bytes > MAX_ID_BYTES) throw invalid(what, `it takes ${bytes} bytes`);
  }
  if (id.includes('\0')) throw invalid(what, 'it holds NUL');
  if (!(id as unknown as { isWellFormed(): boolean }).isWellFormed()) throw invalid(what, 'it holds a lone surrogate');
  return id;
}

function invalid(what: string, found: string): HoldfastError {
  return new HoldfastError(
    'INVALID_ID',
    `${what} must be a non-empty Unicode string of at most ${MAX_ID_BYTES} bytes of UTF-8 without NUL or lone surrogates, ` +
      `but ${found}.`,
    { where: what },
  );
}
