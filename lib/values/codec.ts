import { deserialize, serialize } from 'node:v8';
import { Packr } from 'msgpackr';
import { HoldfastError } from '../errors';
import { PAYLOAD_LIMIT_BYTES } from './limits';
import { checkStorable, payloadTooLarge } from './storable';

/**
 * The first byte of everything stored says how to read the rest: the codec in the upper half, its version in the lower.
 * Numbers are never reused.
 */
const COMPACT = 0x11;
const EXACT = 0x21;
const RECORD = 0x31;

// Records (rather than maps) for objects is what tells an object from a Map. Copied buffers keep what users do to a
// decoded value from reaching the stored bytes.
const values = new Packr({
  useRecords: true,
  moreTypes: true,
  useBigIntExtension: true,
  useToJSON: false,
  copyBuffers: true,
});

// Without moreTypes a Uint8Array is packed like a Buffer, and comes back as a view instead of a copy.
const records = new Packr({ useRecords: true, useBigIntExtension: true, useToJSON: false });

/** Makes msgpackr give the bytes back to its scratch buffer; they are copied out before it is used again. */
const RESET_BUFFER_MODE = 1024;

/**
 * Bytes of a user's value, from which `decode` makes an equal one (A3): string (lone surrogates included), number (NaN,
 * infinities, -0), boolean, null, undefined, bigint of any size, Date, Map, Set, RegExp, Buffer, Uint8Array and the other
 * typed arrays, ArrayBuffer, arrays (holes stay holes) and plain objects. What is not kept: the identity of an object that
 * is reachable twice, non-enumerable properties, and the missing prototype of `Object.create(null)`, which comes back as
 * a plain object. `where` names the value in errors, e.g. `value` in `value.items[2].price`.
 *
 * Throws `VALUE_NOT_STORABLE` with the path of what cannot be kept, and `PAYLOAD_TOO_LARGE` above 4 MiB (P9).
 */
export function encode(value: unknown, where: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes =
      checkStorable(value, where) === 'plain'
        ? withHeader(COMPACT, values.pack(value, RESET_BUFFER_MODE))
        : withHeader(EXACT, serialize(value));
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    // Proxies that refuse to be read, and objects that change while they are read.
    throw new HoldfastError('VALUE_NOT_STORABLE', `${where} cannot be stored: reading it failed.`, { where, cause });
  }
  if (bytes.length > PAYLOAD_LIMIT_BYTES) throw payloadTooLarge(where, bytes.length);
  return bytes;
}

/** The value that `encode` was given. Throws `CORRUPT_RECORD` when the bytes are not what `encode` made. */
export function decode(bytes: Uint8Array): unknown {
  try {
    if (bytes[0] === COMPACT) return values.unpack(bodyOf(bytes));
    if (bytes[0] === EXACT) return deserialize(bodyOf(bytes));
  } catch (cause) {
    throw new HoldfastError('CORRUPT_RECORD', `A stored value of ${bytes.length} bytes cannot be read.`, { cause });
  }
  throw unknownHeader('value', bytes);
}

/**
 * Bytes of one of the library's own records: plain data made by code that knows what it stores, so nothing is checked and
 * there is no limit. -0, lone surrogates and holes are not kept.
 */
export function encodeRecord(record: unknown): Uint8Array {
  return withHeader(RECORD, records.pack(record, RESET_BUFFER_MODE));
}

/**
 * The record that `encodeRecord` was given. Byte arrays inside it are views of `bytes`, not copies: neither may be changed
 * afterwards. Throws `CORRUPT_RECORD` when it cannot be read; `where` names it in the error.
 */
export function decodeRecord(bytes: Uint8Array, where = 'record'): unknown {
  if (bytes[0] !== RECORD) throw unknownHeader(where, bytes);
  try {
    return records.unpack(bodyOf(bytes));
  } catch (cause) {
    throw new HoldfastError('CORRUPT_RECORD', `${where} of ${bytes.length} bytes cannot be read.`, { where, cause });
  }
}

function withHeader(header: number, body: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(body.length + 1);
  bytes[0] = header;
  bytes.set(body, 1);
  return bytes;
}

/** Always a Buffer, because byte arrays inside are made as what they are read from, and stores give plain Uint8Arrays. */
function bodyOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.byteLength - 1);
}

function unknownHeader(where: string, bytes: Uint8Array): HoldfastError {
  const found = bytes.length === 0 ? 'it is empty' : `its first byte is 0x${bytes[0]!.toString(16).padStart(2, '0')}`;
  return new HoldfastError('CORRUPT_RECORD', `Stored ${where} has no known codec: ${found}.`, {
    where,
    fix: 'It was written by a newer version of the library, or damaged.',
  });
}
