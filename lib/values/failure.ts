import { types } from 'node:util';
import { catalogue, type ErrorCode, HoldfastError } from '../errors';
import { decode, encode } from './codec';

/** An error as it is stored and sent: plain, bounded, whatever was thrown (C43). */
export interface Failure {
  /** The error's name, e.g. `TypeError`; matched by `retry.nonRetryable`. */
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: Failure;
  /** Members of an AggregateError. */
  readonly errors?: readonly Failure[];
  /** Own enumerable properties of the error that can be kept. */
  readonly details?: unknown;
}

const MAX_TEXT_BYTES = 8 * 1024;
const MAX_NAME_BYTES = 256;
const MAX_DETAILS_BYTES = 4 * 1024;
const MAX_CAUSES = 8;
/** Bounds the whole tree of causes and members, and so the size of what is stored. */
const MAX_FAILURES = 24;

/** Properties with a place of their own in a Failure. */
const OWN_PLACE = new Set(['name', 'message', 'stack', 'cause', 'errors', 'code']);

interface Budget {
  failuresLeft: number;
}

/**
 * What can be kept of anything thrown: name, message and stack (each at most 8 KiB), code (as a string), causes up to 8
 * deep, members of an AggregateError, and own enumerable properties that can be stored and take at most 4 KiB. A value that
 * is no error gets the name `NonError`. Never throws (C43).
 */
export function toFailure(thrown: unknown): Failure {
  try {
    return failureOf(thrown, { failuresLeft: MAX_FAILURES }, 0, new Set());
  } catch {
    return { name: 'NonError', message: 'Something was thrown that could not be read.' };
  }
}

/** Whether what was thrown is of a class; false for a proxy that refuses to be looked at. Never throws. */
export function isA<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

function failureOf(thrown: unknown, budget: Budget, depth: number, seen: Set<object>): Failure {
  budget.failuresLeft--;
  if (!isErrorLike(thrown)) return nonError(thrown);
  seen.add(thrown);
  const failure: { -readonly [K in keyof Failure]: Failure[K] } = {
    name: nameOf(thrown),
    message: textOf(read(thrown, 'message'), MAX_TEXT_BYTES) ?? '',
  };
  const code = read(thrown, 'code');
  if (typeof code === 'string' || typeof code === 'number') failure.code = bounded(String(code), MAX_NAME_BYTES);
  const stack = textOf(read(thrown, 'stack'), MAX_TEXT_BYTES);
  if (stack !== undefined) failure.stack = stack;

  const follow = (next: unknown) =>
    depth < MAX_CAUSES && budget.failuresLeft > 0 && !(typeof next === 'object' && next !== null && seen.has(next));
  const cause = read(thrown, 'cause');
  if (cause !== undefined && follow(cause)) failure.cause = failureOf(cause, budget, depth + 1, seen);
  const members = read(thrown, 'errors');
  if (Array.isArray(members) && members.length > 0) {
    const errors: Failure[] = [];
    for (const member of members.slice(0, MAX_FAILURES)) {
      if (follow(member)) errors.push(failureOf(member, budget, depth + 1, seen));
    }
    failure.errors = errors;
  }
  const details = detailsOf(thrown);
  if (details !== undefined) failure.details = details;
  return failure;
}

/** Native errors, those of another realm, and what merely looks like an error, such as a plain object with a message. */
function isErrorLike(thrown: unknown): thrown is object {
  if (typeof thrown !== 'object' || thrown === null) return false;
  return types.isNativeError(thrown) || thrown instanceof Error || typeof read(thrown, 'message') === 'string';
}

function nonError(thrown: unknown): Failure {
  if (typeof thrown === 'string') return { name: 'NonError', message: bounded(thrown, MAX_TEXT_BYTES) };
  const failure = { name: 'NonError', message: `A value that is no Error was thrown: ${describe(thrown)}` };
  const details = typeof thrown === 'object' && thrown !== null ? keepable(thrown) : undefined;
  return details === undefined ? failure : { ...failure, details };
}

function describe(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null) {
    return Array.isArray(thrown) ? 'an array' : `an object of class ${classNameOf(thrown) ?? 'unknown'}`;
  }
  return bounded(String(thrown), MAX_NAME_BYTES);
}

function nameOf(error: object): string {
  const name = textOf(read(error, 'name'), MAX_NAME_BYTES);
  // Subclasses that forget to set `name` inherit 'Error'; their class name says more.
  if (name === undefined || name === '' || name === 'Error') return classNameOf(error) ?? (name || 'Error');
  return name;
}

function classNameOf(value: object): string | undefined {
  const type = read(value, 'constructor');
  const name = typeof type === 'function' ? textOf(read(type, 'name'), MAX_NAME_BYTES) : undefined;
  return name === '' || name === 'Object' ? undefined : name;
}

function detailsOf(error: object): unknown {
  const details: Record<string, unknown> = {};
  let found = false;
  let keys: string[] = [];
  try {
    keys = Object.keys(error);
  } catch {
    // A proxy may refuse to list its keys.
  }
  for (const key of keys.slice(0, 64)) {
    if (OWN_PLACE.has(key)) continue;
    const value = keepable(read(error, key));
    if (value === undefined) continue;
    Object.defineProperty(details, key, { value, enumerable: true, configurable: true, writable: true });
    found = true;
  }
  return found ? keepable(details) : undefined;
}

/** A copy of the value when it can be stored and is small, otherwise undefined. */
function keepable(value: unknown): unknown {
  try {
    const bytes = encode(value, 'details');
    return bytes.length <= MAX_DETAILS_BYTES ? decode(bytes) : undefined;
  } catch {
    return undefined;
  }
}

function read(from: object, key: string): unknown {
  try {
    return (from as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function textOf(value: unknown, maxBytes: number): string | undefined {
  return typeof value === 'string' ? bounded(value, maxBytes) : undefined;
}

const CUT = '… (cut)';

function bounded(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes));
  if (bytes.length <= maxBytes && text.length <= maxBytes) return text;
  // A character cut in two decodes to U+FFFD.
  return (
    bytes
      .subarray(0, maxBytes - 12)
      .toString()
      .replace(/\uFFFD+$/, '') + CUT
  );
}

/**
 * An Error with the name, message, code, stack, causes, members and details of a stored failure, to be thrown to a caller.
 * Failures of the library itself come back as `HoldfastError`, the rest as `Error` or `AggregateError` with `name` set:
 * compare `name` and `code`, not classes. Tolerates failures nested by someone else's hand.
 */
export function fromFailure(failure: Failure): Error {
  const error = create(failure);
  define(error, 'stack', failure.stack ?? `${failure.name}: ${failure.message}`);
  if (error.name !== failure.name) define(error, 'name', failure.name);
  if (failure.code !== undefined && !(error instanceof HoldfastError)) assign(error, 'code', failure.code);
  if (failure.cause !== undefined) define(error, 'cause', fromFailure(failure.cause));
  if (failure.errors !== undefined) define(error, 'errors', failure.errors.map(fromFailure));
  const { details } = failure;
  if (typeof details === 'object' && details !== null && failure.name !== 'NonError') {
    for (const [key, value] of Object.entries(details)) if (!OWN_PLACE.has(key)) assign(error, key, value);
  }
  return error;
}

function create(failure: Failure): Error {
  const entry = failure.code === undefined ? undefined : (catalogue as Record<string, { name: string }>)[failure.code];
  if (entry !== undefined && entry.name === failure.name && Object.hasOwn(catalogue, failure.code!)) {
    return new HoldfastError(failure.code as ErrorCode, failure.message);
  }
  return failure.errors === undefined ? new Error(failure.message) : new AggregateError([], failure.message);
}

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: false, configurable: true, writable: true });
}

function assign(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: true, configurable: true, writable: true });
}
