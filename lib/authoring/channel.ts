import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { type ChannelCondition, channelCondition } from './condition';
import { currentInvocation } from './invocation';

declare const message: unique symbol;

/** On the prototype, so that two copies of the library in one process know each other's classes. */
const channelKind = Symbol.for('holdfast.channel');

/**
 * A typed durable FIFO queue inside one run (C1). Mark a subclass with `@Channel()` and take it in the constructor of the
 * Steps and Flows that use it. The `take…` methods make conditions for a Wait and consume nothing themselves; one message
 * goes to one wait, once.
 *
 * `publish`, `received`, `size` and `peek` throw `OUTSIDE_INVOCATION` outside of a call or after it has ended (A6); the
 * `take…` methods throw `DEFINITION` for an amount that makes no sense.
 */
export abstract class DurableChannel<T> {
  declare readonly [message]: T;

  /** Stages a message, saved with the result of the call (C2). */
  publish(value: T): void {
    const type = typeOf(this);
    currentInvocation(`${type.name}.publish()`).channels.publish(type, undefined, value);
  }

  /** Exactly `count` messages, from 1 (W4). */
  take(count: number, id?: string): ChannelCondition {
    return channelCondition('take', typeOf(this), undefined, count, count, id);
  }

  /** All messages there are, once there are at least `minimum`, from 0 (W4). */
  takeAtLeast(minimum: number, id?: string): ChannelCondition {
    return channelCondition('takeAtLeast', typeOf(this), undefined, minimum, null, id);
  }

  /** As many as there are, at most `maximum`; ready at once, also with none (W4). */
  takeUpTo(maximum: number, id?: string): ChannelCondition {
    return channelCondition('takeUpTo', typeOf(this), undefined, 0, maximum, id);
  }

  /** At least `minimum` and at most `maximum` messages (W4). */
  takeBetween(minimum: number, maximum: number, id?: string): ChannelCondition {
    return channelCondition('takeBetween', typeOf(this), undefined, minimum, maximum, id);
  }

  /** In `execute`: the messages this execution's wait consumed, in order; `[]` if this Channel did not win (W3). */
  received(): T[] {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.received()`).channels.received(type, undefined) as T[];
  }

  /** Unread messages, from the snapshot plus staged publishes (C4). */
  get size(): number {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.size`).channels.size(type, undefined);
  }

  /** The first `count` unread messages; consumes nothing. At most the first 100, and 256 KiB, can be seen (C4). */
  peek(count?: number): T[] {
    const type = typeOf(this);
    const pending = currentInvocation(`${type.name}.peek()`).channels.pending(type, undefined);
    return pending.slice(0, count) as T[];
  }
}

/** Durable FIFO queues by key; otherwise as `DurableChannel`. */
export abstract class DurableChannelMap<T> {
  declare readonly [message]: T;

  publish(key: string, value: T): void {
    const type = typeOf(this);
    currentInvocation(`${type.name}.publish()`).channels.publish(type, entryKey(key, type), value);
  }

  take(key: string, count: number, id?: string): ChannelCondition {
    return channelCondition('take', typeOf(this), entryKey(key, typeOf(this)), count, count, id);
  }

  takeAtLeast(key: string, minimum: number, id?: string): ChannelCondition {
    return channelCondition('takeAtLeast', typeOf(this), entryKey(key, typeOf(this)), minimum, null, id);
  }

  takeUpTo(key: string, maximum: number, id?: string): ChannelCondition {
    return channelCondition('takeUpTo', typeOf(this), entryKey(key, typeOf(this)), 0, maximum, id);
  }

  takeBetween(key: string, minimum: number, maximum: number, id?: string): ChannelCondition {
    return channelCondition('takeBetween', typeOf(this), entryKey(key, typeOf(this)), minimum, maximum, id);
  }

  received(key: string): T[] {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.received()`).channels.received(type, entryKey(key, type)) as T[];
  }

  /** Unread messages of one key. */
  size(key: string): number {
    const type = typeOf(this);
    return currentInvocation(`${type.name}.size()`).channels.size(type, entryKey(key, type));
  }

  peek(key: string, count?: number): T[] {
    const type = typeOf(this);
    const pending = currentInvocation(`${type.name}.peek()`).channels.pending(type, entryKey(key, type));
    return pending.slice(0, count) as T[];
  }
}

Object.defineProperty(DurableChannel.prototype, channelKind, { value: 'single' });
Object.defineProperty(DurableChannelMap.prototype, channelKind, { value: 'map' });

export type ChannelClass<T = any> = abstract new (...deps: never[]) => DurableChannel<T> | DurableChannelMap<T>;

/** The type of message that a Channel class carries. */
export type ChannelMessage<C> = C extends abstract new (
  ...deps: never[]
) => infer I
  ? I extends { readonly [message]: infer T }
    ? T
    : never
  : never;

/** Whether a class extends `DurableChannel` ('single'), `DurableChannelMap` ('map') or neither (undefined). */
export function channelKindOf(type: unknown): 'single' | 'map' | undefined {
  return typeof type === 'function' ? type.prototype?.[channelKind] : undefined;
}

function typeOf(channel: object): Class {
  return channel.constructor as Class;
}

function entryKey(key: unknown, type: Class): string {
  if (typeof key !== 'string') {
    throw new HoldfastError('DEFINITION', `${type.name}: a Channel's key must be a string, not ${typeof key}.`, {
      where: type.name,
      fix: 'Give the key first, as a string.',
    });
  }
  return key;
}
