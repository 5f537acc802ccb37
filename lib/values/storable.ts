import { types } from 'node:util';
import { HoldfastError } from '../errors';
import { PAYLOAD_LIMIT_BYTES } from './limits';

/** How deep objects, arrays, maps and sets may be nested in a stored value. */
export const MAX_DEPTH = 500;

/** `plain` values survive the compact format exactly; `exotic` ones need the exact, slower one. */
export type Storability = 'plain' | 'exotic';

/** Keys that the compact format would rename or mistake for something else. */
const EXOTIC_KEYS = new Set(['__proto__', 'constructor', 'toJSON']);

interface WellFormed {
  isWellFormed(): boolean;
}

type Segment = string | number | { readonly label: string };

/** The value being walked. Walks are synchronous and getters may start another one, so each walk has its own. */
interface Walk {
  readonly where: string;
  readonly ancestors: object[];
  /** Property names, array indexes, and labels of what has no name; made into text only for an error. */
  readonly path: Segment[];
  /** A lower bound of the encoded size, so that far too large values are refused before they are packed. */
  leastBytes: number;
  exotic: boolean;
}

/**
 * Checks that a value can be kept and come back equal (A3). Throws `VALUE_NOT_STORABLE` with the path of what cannot, and
 * `PAYLOAD_TOO_LARGE` when it is certain to be above the limit.
 */
export function checkStorable(value: unknown, where: string): Storability {
  const walk: Walk = { where, ancestors: [], path: [], leastBytes: 0, exotic: false };
  visit(value, walk);
  return walk.exotic ? 'exotic' : 'plain';
}

function visit(value: unknown, walk: Walk): void {
  count(walk, 1);
  switch (typeof value) {
    case 'string':
      visitText(value, walk);
      return;
    case 'number':
      if (value === 0 && Object.is(value, -0)) walk.exotic = true;
      return;
    case 'boolean':
    case 'undefined':
      return;
    case 'bigint':
      // A bigint of n bits takes n/8 bytes; below 64 bits that is not worth a look.
      if (value > 0xffffffffffffffffn || value < -0xffffffffffffffffn) count(walk, value.toString(16).length >> 1);
      return;
    case 'object':
      if (value !== null) visitObject(value, walk);
      return;
    default:
      refuse(walk, typeof value === 'function' ? `a function${named(value)}` : `a ${typeof value}`);
  }
}

function visitText(text: string, walk: Walk): void {
  count(walk, text.length);
  if (!(text as unknown as WellFormed).isWellFormed()) walk.exotic = true;
}

function visitObject(value: object, walk: Walk): void {
  const { ancestors } = walk;
  if (ancestors.includes(value)) refuse(walk, 'a cycle: the value contains itself');
  if (ancestors.length >= MAX_DEPTH) refuse(walk, `nested deeper than ${MAX_DEPTH} levels`);
  ancestors.push(value);
  if (Array.isArray(value)) visitArray(value, walk);
  else {
    const prototype = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) visitEntries(value, walk);
    else visitInstance(value, prototype, walk);
  }
  ancestors.pop();
}

function visitArray(array: readonly unknown[], walk: Walk): void {
  if (Object.getPrototypeOf(array) !== Array.prototype && className(array) !== 'Array') refuseInstance(array, walk);
  // A sparse array of four billion holes must not be walked.
  count(walk, array.length);
  for (let index = 0; index < array.length; index++) {
    const item = array[index];
    if (item === undefined && !(index in array)) walk.exotic = true;
    else if (!visitEasy(item, walk)) visitAt(item, index, walk);
  }
}

function visitEntries(value: object, walk: Walk): void {
  for (const symbol of Object.getOwnPropertySymbols(value)) {
    if (Object.prototype.propertyIsEnumerable.call(value, symbol)) {
      walk.path.push({ label: `[${String(symbol)}]` });
      refuse(walk, 'a property named by a symbol');
    }
  }
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(value)) {
    visitText(key, walk);
    if (EXOTIC_KEYS.has(key)) walk.exotic = true;
    let item: unknown;
    try {
      item = record[key];
    } catch (cause) {
      walk.path.push(key);
      refuse(walk, 'a getter that throws', cause);
    }
    if (!visitEasy(item, walk)) visitAt(item, key, walk);
  }
}

/** Handles the commonest values, none of which can be refused, without noting their path; false for all others. */
function visitEasy(value: unknown, walk: Walk): boolean {
  if (typeof value === 'string') visitText(value, walk);
  else if (typeof value !== 'boolean' && value !== null && value !== undefined) {
    if (typeof value !== 'number') return false;
    if (value === 0 && Object.is(value, -0)) walk.exotic = true;
  }
  count(walk, 1);
  return true;
}

function visitAt(value: unknown, segment: Segment, walk: Walk): void {
  walk.path.push(segment);
  visit(value, walk);
  walk.path.pop();
}

function visitInstance(value: object, prototype: object, walk: Walk): void {
  if (prototype === Map.prototype && types.isMap(value)) visitMap(value, walk);
  else if (prototype === Set.prototype && types.isSet(value)) visitSet(value, walk);
  else if ((prototype === Buffer.prototype || prototype === Uint8Array.prototype) && types.isUint8Array(value)) {
    count(walk, value.byteLength);
  } else if (prototype !== Date.prototype || !types.isDate(value)) visitRare(value, walk);
}

/** Kinds that only the exact format knows, and built-ins of another realm, as test runners with `vm` contexts make them. */
function visitRare(value: object, walk: Walk): void {
  const name = className(value);
  walk.exotic = true;
  if (ArrayBuffer.isView(value) && (name === 'Buffer' || name in globalThis)) count(walk, value.byteLength);
  else if (types.isArrayBuffer(value) && name === 'ArrayBuffer') count(walk, value.byteLength);
  else if (types.isMap(value) && name === 'Map') visitMap(value, walk);
  else if (types.isSet(value) && name === 'Set') visitSet(value, walk);
  else if (types.isRegExp(value) && name === 'RegExp') count(walk, value.source.length);
  else if (isForeignPlainObject(value, name)) visitEntries(value, walk);
  else if (!types.isDate(value) || name !== 'Date') refuseInstance(value, walk);
}

function isForeignPlainObject(value: object, name: string): boolean {
  return name === 'Object' && !types.isProxy(value) && Object.getPrototypeOf(Object.getPrototypeOf(value)) === null;
}

function visitMap(map: ReadonlyMap<unknown, unknown>, walk: Walk): void {
  for (const [key, item] of map) {
    const segment = { label: `.<map key ${describeKey(key)}>` };
    visitAt(key, segment, walk);
    visitAt(item, segment, walk);
  }
}

function visitSet(set: ReadonlySet<unknown>, walk: Walk): void {
  let index = 0;
  for (const item of set) visitAt(item, { label: `.<set item ${index++}>` }, walk);
}

function count(walk: Walk, bytes: number): void {
  walk.leastBytes += bytes;
  if (walk.leastBytes > PAYLOAD_LIMIT_BYTES) throw payloadTooLarge(walk.where, walk.leastBytes, 'at least ');
}

/** The error for a value above the payload limit (P9, C44). */
export function payloadTooLarge(where: string, bytes: number, exactness = ''): HoldfastError {
  return new HoldfastError(
    'PAYLOAD_TOO_LARGE',
    `${where} takes ${exactness}${bytes} bytes; the limit is ${PAYLOAD_LIMIT_BYTES} bytes. Nothing was saved.`,
    { where },
  );
}

function refuse(walk: Walk, what: string, cause?: unknown): never {
  const path = walk.where + walk.path.map(textOf).join('');
  throw new HoldfastError('VALUE_NOT_STORABLE', `${path} cannot be stored: it is ${what}.`, { where: path, cause });
}

function refuseInstance(value: object, walk: Walk): never {
  const name = className(value);
  const fix = types.isNativeError(value) ? '; store its name and message' : '';
  refuse(walk, `an instance of ${name || 'an unnamed class'}, and only plain data is kept${fix}`);
}

function className(value: object): string {
  try {
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    return typeof name === 'string' ? name : '';
  } catch {
    return '';
  }
}

function named(value: unknown): string {
  const name = (value as { name?: unknown }).name;
  return typeof name === 'string' && name !== '' ? ` (${name})` : '';
}

function textOf(segment: Segment): string {
  if (typeof segment === 'number') return `[${segment}]`;
  if (typeof segment === 'object') return segment.label;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment.slice(0, 100))}]`;
}

function describeKey(key: unknown): string {
  if (typeof key === 'string') return JSON.stringify(key.slice(0, 100));
  if (typeof key === 'object' && key !== null) return className(key) || 'object';
  return typeof key === 'function' ? 'function' : String(key);
}
