import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { currentInvocation } from './invocation';

declare const stored: unique symbol;

/** On the prototype, so that two copies of the library in one process know each other's classes. */
const attributeKind = Symbol.for('holdfast.attribute');

/**
 * One durable value of a run (A1). Mark a subclass with `@Attribute()` and take it in the constructor of the Steps and Flows
 * that use it; inside a call it reads the state the call was handed out with, plus the call's own staged writes.
 *
 * Every member throws `OUTSIDE_INVOCATION` outside of `waitFor`, `execute` and RPCs, or after the call has ended (A6).
 */
export abstract class DurableAttribute<T> {
  declare readonly [stored]: T;

  /** The value, or undefined if it was never set or was deleted. */
  get(): T | undefined {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.get()`).attributes.read(type, undefined) as T | undefined;
  }

  /**
   * Stages a write, saved with the result of the call (S5). Throws `DEFINITION` for undefined and `VALUE_NOT_STORABLE` for
   * what cannot be kept (A2, A3).
   */
  set(value: T): void {
    const type = typeOf(this);
    refuseUndefined(value, `${type.name}.set()`);
    currentInvocation(`${type.name}.set()`).attributes.write(type, undefined, value);
  }

  /** Stages the removal of the value. */
  delete(): void {
    const type = typeOf(this);
    currentInvocation(`${type.name}.delete()`).attributes.remove(type, undefined);
  }
}

/** Durable values of a run by key (A1); otherwise as `DurableAttribute`. Each entry is stored on its own. */
export abstract class DurableAttributeMap<T> {
  declare readonly [stored]: T;

  get(key: string): T | undefined {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.get()`).attributes.read(type, entryKey(key, type)) as T | undefined;
  }

  has(key: string): boolean {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.has()`).attributes.read(type, entryKey(key, type)) !== undefined;
  }

  /** Stages a write of one entry; errors as `DurableAttribute.set`. */
  set(key: string, value: T): void {
    const type = typeOf(this);
    refuseUndefined(value, `${type.name}.set()`);
    currentInvocation(`${type.name}.set()`).attributes.write(type, entryKey(key, type), value);
  }

  /** Stages the removal of one entry. */
  delete(key: string): void {
    const type = typeOf(this);
    currentInvocation(`${type.name}.delete()`).attributes.remove(type, entryKey(key, type));
  }

  keys(): string[] {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.keys()`).attributes.keys(type);
  }

  get size(): number {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.size`).attributes.keys(type).length;
  }
}

Object.defineProperty(DurableAttribute.prototype, attributeKind, { value: 'single' });
Object.defineProperty(DurableAttributeMap.prototype, attributeKind, { value: 'map' });

export type AttributeClass<T = any> = abstract new (...deps: never[]) => DurableAttribute<T> | DurableAttributeMap<T>;

/** The type of value that an Attribute class keeps. */
export type AttributeValue<A> = A extends abstract new (
  ...deps: never[]
) => infer I
  ? I extends { readonly [stored]: infer T }
    ? T
    : never
  : never;

/** Whether a class extends `DurableAttribute` ('single'), `DurableAttributeMap` ('map') or neither (undefined). */
export function attributeKindOf(type: unknown): 'single' | 'map' | undefined {
  return typeof type === 'function' ? type.prototype?.[attributeKind] : undefined;
}

function typeOf(attribute: object): Class {
  return attribute.constructor as Class;
}

function refuseUndefined(value: unknown, use: string): void {
  if (value === undefined) {
    throw new HoldfastError('DEFINITION', `${use} was given undefined, which is not a value that can be kept.`, {
      where: use,
      fix: 'Use delete() to remove the value, or null for "known to be nothing".',
    });
  }
}

function entryKey(key: unknown, type: Class): string {
  if (typeof key !== 'string') {
    throw new HoldfastError('DEFINITION', `${type.name}: an entry's key must be a string, not ${typeof key}.`, {
      where: type.name,
      fix: 'Give the key as a string, e.g. String(id).',
    });
  }
  return key;
}
