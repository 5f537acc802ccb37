import type { AttributeClass, AttributeOptions, AttributeValue, MustStore, Problem } from '../lib/authoring';
import { recordAttribute } from '../lib/metadata';
import type { IndexKind, LockMode } from '../lib/plan/plan';
import type { LockDecorator } from './lock';

type Encoded<T> = AttributeOptions<T> & Required<Pick<AttributeOptions<T>, 'codec'>>;
type Plain<K extends IndexKind = IndexKind> = AttributeOptions & { readonly codec?: undefined; readonly index?: K };

/** What each kind of index takes. */
interface Indexed {
  readonly keyword: string;
  readonly text: string;
  readonly keywordArray: readonly string[];
  readonly int: number | bigint;
  readonly double: number;
  readonly bool: boolean;
  readonly datetime: Date;
}

type MustIndex<V, K extends IndexKind> = [IndexKind] extends [K]
  ? unknown
  : [V] extends [Indexed[K] | null]
    ? unknown
    : Problem<`the index ${K} is for another type of value`>;

/** A class decorator that checks that the value can be stored, and fits its index. */
type PlainMark<K extends IndexKind> = <A extends AttributeClass>(
  target: A & MustStore<AttributeValue<A>, 'value'> & MustIndex<AttributeValue<A>, K>,
) => void;
/** One that leaves that to the codec. */
type EncodedMark<T> = <A extends AttributeClass>(
  target: A & ([AttributeValue<A>] extends [T] ? unknown : Problem<'the codec is for another type of value'>),
) => void;

/**
 * Marks a class that extends `DurableAttribute` or `DurableAttributeMap` (A1). The lock mode [none] is what the `execute` of
 * every Step takes that has the Attribute in its constructor (L1). Does not compile when the value cannot be stored, or
 * does not fit the index, unless a codec is given.
 */
export function Attribute<T>(options: Encoded<T>): EncodedMark<T>;
export function Attribute<T>(lock: LockMode | LockDecorator | undefined, options: Encoded<T>): EncodedMark<T>;
export function Attribute<K extends IndexKind = IndexKind>(options: Plain<K>): PlainMark<K>;
export function Attribute<K extends IndexKind = IndexKind>(
  lock?: LockMode | LockDecorator,
  options?: Plain<K>,
): PlainMark<K>;
export function Attribute(first?: LockMode | LockDecorator | AttributeOptions, second?: AttributeOptions) {
  const isOptions = typeof first === 'object' && first !== null;
  const lock = isOptions ? 'none' : typeof first === 'function' ? first.mode : (first ?? 'none');
  return (target: AttributeClass): void => recordAttribute(target, lock, (isOptions ? first : second) ?? {});
}
