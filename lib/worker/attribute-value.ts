import type { AttributeBinding } from '../compiler';
import type { Payload } from '../core';
import { HoldfastError } from '../errors';
import { decode, encode, expectedBy, indexTerms } from '../values';

/** What is stored for a value that went through a codec: the codec's name tells a later reader which. */
interface Coded {
  readonly codec: string;
  readonly value: unknown;
}

/** The stored form of an Attribute's value. Throws `VALUE_NOT_STORABLE` and `PAYLOAD_TOO_LARGE` (A3). */
export function encodeAttribute(binding: AttributeBinding, value: unknown, key?: string): Payload {
  const where = key === undefined ? binding.name : `${binding.name}[${JSON.stringify(key)}]`;
  checkSchema(binding, value, where);
  const plain = binding.codec ? binding.codec.encode(value) : value;
  checkIndex(binding, plain, where);
  if (!binding.codec) return encode(value, where);
  const coded: Coded = { codec: binding.codec.name, value: plain };
  return encode(coded, where);
}

export function decodeAttribute(binding: AttributeBinding, payload: Payload): unknown {
  const stored = decode(payload);
  if (!binding.codec) return stored;
  const { codec, value } = stored as Coded;
  if (codec === binding.codec.name) return binding.codec.decode(value);
  throw new HoldfastError(
    'CORRUPT_RECORD',
    `The value of ${binding.name} was stored by the codec ${codec}, and its codec is now ${binding.codec.name}.`,
    { where: binding.name },
  );
}

function checkIndex({ plan }: AttributeBinding, value: unknown, where: string): void {
  if (plan.index === null || indexTerms(plan.index, value)) return;
  throw new HoldfastError('VALUE_NOT_STORABLE', `${where} does not fit its index '${plan.index}'.`, {
    where,
    fix: `Set ${expectedBy(plan.index)}, or null.`,
  });
}

function checkSchema(binding: AttributeBinding, value: unknown, where: string): void {
  if (!binding.schema) return;
  const result = binding.schema['~standard'].validate(value) as {
    issues?: readonly { message: string; path?: readonly unknown[] }[];
  };
  if (result instanceof Promise) {
    throw new HoldfastError('DEFINITION', `The schema of ${binding.name} is asynchronous; set() is not.`, {
      where: binding.name,
      fix: 'Give a schema that validates synchronously.',
    });
  }
  if (!result.issues) return;
  const issues = result.issues.map(({ path, message }) => [...(path ?? []).map(pathPart), message].join(': '));
  throw new HoldfastError('VALUE_NOT_STORABLE', `${where} does not fit its schema: ${issues.join('; ')}.`, {
    where,
    fix: 'Set a value that fits the schema.',
  });
}

function pathPart(part: unknown): string {
  return String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part);
}
