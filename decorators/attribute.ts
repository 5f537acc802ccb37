import type { AttributeClass, AttributeOptions, AttributeValue, MustStore, Problem } from '../lib/authoring';
import { recordAttribute } from '../lib/metadata';
import type { LockMode } from '../lib/plan/plan';
import type { LockDecorator } from './lock';

type Encoded<T> = AttributeOptions<T> & Required<Pick<AttributeOptions<T>, 'codec'>>;
type Plain = AttributeOptions & { readonly codec?: undefined };

/** A class decorator that checks that the value can be stored. */
type PlainMark = <A extends AttributeClass>(target: A & MustStore<AttributeValue<A>, 'value'>) => void;
/** One that leaves that to the codec. */
type EncodedMark<T> = <A extends AttributeClass>(
  target: A & ([AttributeValue<A>] extends [T] ? unknown : Problem<'the codec is for another type of value'>),
) => void;

/**
 * Marks a class that extends `DurableAttribute` or `DurableAttributeMap` (A1). The lock mode [none] is what the `execute` of
 * every Step takes that has the Attribute in its constructor (L1). Does not compile when the value cannot be stored, unless
 * a codec is given.
 */
export function Attribute<T>(options: Encoded<T>): EncodedMark<T>;
export function Attribute<T>(lock: LockMode | LockDecorator | undefined, options: Encoded<T>): EncodedMark<T>;
export function Attribute(options: Plain): PlainMark;
export function Attribute(lock?: LockMode | LockDecorator, options?: Plain): PlainMark;
export function Attribute(first?: LockMode | LockDecorator | AttributeOptions, second?: AttributeOptions) {
  const isOptions = typeof first === 'object' && first !== null;
  const lock = isOptions ? 'none' : typeof first === 'function' ? first.mode : (first ?? 'none');
  return (target: AttributeClass): void => recordAttribute(target, lock, (isOptions ? first : second) ?? {});
}
