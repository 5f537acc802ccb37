import type { AttributeClass, AttributeValue } from '../../authoring';

/** What a run has to be like, for `where` in a query; made by `attribute`, `either` and `not`. */
export type Filter =
  | {
      readonly kind: 'attribute';
      readonly attribute: AttributeClass;
      readonly operator: Operator;
      readonly values: readonly unknown[];
    }
  | { readonly kind: 'either'; readonly filters: readonly Filter[] }
  | { readonly kind: 'not'; readonly filter: Filter };

const operators = [
  ...(['exists', 'equals', 'in', 'startsWith', 'contains', 'has', 'hasAny'] as const),
  ...(['atLeast', 'above', 'atMost', 'below', 'between'] as const),
] as const;

export type Operator = (typeof operators)[number];

interface AnyAttribute {
  /** It has a value other than null. */
  exists(): Filter;
}

export interface StringAttribute<T> extends AnyAttribute {
  /** Index `keyword`. */
  equals(value: T): Filter;
  /** One of them; index `keyword`. */
  in(values: readonly T[]): Filter;
  /** Index `keyword`. */
  startsWith(prefix: string): Filter;
  /** All these words, in any order, not minding case; index `text`. */
  contains(words: string): Filter;
}

export interface ArrayAttribute extends AnyAttribute {
  has(value: string): Filter;
  hasAny(values: readonly string[]): Filter;
}

export interface FlagAttribute extends AnyAttribute {
  equals(value: boolean): Filter;
}

export interface OrderedAttribute<T> extends AnyAttribute {
  equals(value: T): Filter;
  in(values: readonly T[]): Filter;
  atLeast(value: T): Filter;
  above(value: T): Filter;
  atMost(value: T): Filter;
  below(value: T): Filter;
  /** From the first on, and below the second. */
  between(from: T, to: T): Filter;
}

/** What can be asked of an Attribute, by the type of its value. */
export type AttributeFilters<V> = [V] extends [string | null]
  ? StringAttribute<NonNullable<V>>
  : [V] extends [boolean | null]
    ? FlagAttribute
    : [V] extends [readonly string[] | null]
      ? ArrayAttribute
      : [V] extends [number | bigint | Date | null]
        ? OrderedAttribute<NonNullable<V>>
        : StringAttribute<V> & OrderedAttribute<V> & ArrayAttribute;

/**
 * Asks for runs by an indexed Attribute: `attribute(CustomerId).equals('c-1')` (A4). Which operators there are depends on the
 * type of its value; the query throws `INVALID_ARGUMENT` for one that its kind of index does not have.
 */
export function attribute<A extends AttributeClass>(type: A): AttributeFilters<AttributeValue<A>> {
  const filters = operators.map((operator) => {
    const isList = operator === 'in' || operator === 'hasAny';
    const make = (...values: unknown[]): Filter => ({
      ...{ kind: 'attribute', attribute: type, operator },
      values: isList && Array.isArray(values[0]) ? values[0] : values,
    });
    return [operator, make] as const;
  });
  return Object.fromEntries(filters) as unknown as AttributeFilters<AttributeValue<A>>;
}

/** At least one of them holds. */
export function either(...filters: readonly Filter[]): Filter {
  return { kind: 'either', filters };
}

/** It does not hold; an Attribute without a value holds for no filter, and so for each that is turned round. */
export function not(filter: Filter): Filter {
  return { kind: 'not', filter };
}
