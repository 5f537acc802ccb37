import { createHash } from 'node:crypto';

/**
 * A short digest of contents, to tell whether a repeated id came with the same content (I2): the first 16 bytes of SHA-256,
 * base64url, 22 characters. Parts are framed by their length, so `('ab', 'c')` and `('a', 'bc')` differ.
 */
export function digest(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    const size = typeof part === 'string' ? Buffer.byteLength(part) : part.byteLength;
    if (parts.length > 1) hash.update(`${size}:`);
    hash.update(part);
  }
  return hash.digest().subarray(0, 16).toString('base64url');
}
