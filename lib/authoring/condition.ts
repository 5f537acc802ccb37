import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { type Duration, durationMs, instantMs } from '../values/duration';
import type { SubFlowCondition } from './sub-flow';

/** What a Wait can wait for (W1). */
export type Condition = ChannelCondition | TimerCondition | SubFlowCondition;

export interface ChannelCondition {
  readonly kind: 'channel';
  readonly id?: string;
  readonly type: Class;
  /** Key of a `DurableChannelMap`. */
  readonly key?: string;
  readonly min: number;
  /** null: all there are. */
  readonly max: number | null;
}

export type TimerCondition = TimerAfter | TimerAt;

export interface TimerAfter {
  readonly kind: 'timer';
  readonly id?: string;
  /** Counted from the moment the wait is saved (W6). */
  readonly afterMs: number;
}

export interface TimerAt {
  readonly kind: 'timer';
  readonly id?: string;
  readonly atMs: number;
}

/** Durable timers for a Wait; they hold for milliseconds as for years (W6). */
export const Timer = Object.freeze({
  /** Holds once `duration` has passed since the wait was saved; 0 holds at once. Throws `INVALID_DURATION`. */
  after(duration: Duration, id?: string): TimerCondition {
    return Object.freeze({ kind: 'timer', ...withId('Timer.after', id), afterMs: durationMs(duration, 'Timer.after') });
  },
  /** Holds from that moment on; a past one holds at once. Throws `INVALID_DURATION`. */
  at(date: Date | number, id?: string): TimerCondition {
    return Object.freeze({ kind: 'timer', ...withId('Timer.at', id), atMs: instantMs(date, 'Timer.at') });
  },
});

/** A checked Channel amount (W4); used by the `take…` methods. */
export function channelCondition(
  method: string,
  type: Class,
  key: string | undefined,
  min: number,
  max: number | null,
  id: string | undefined,
): ChannelCondition {
  const use = `${type.name}.${method}`;
  const given = method === 'takeBetween' ? `${min} and ${max}` : `${method === 'takeUpTo' ? max : min}`;
  if (!Number.isSafeInteger(min) || min < 0 || (max !== null && (!Number.isSafeInteger(max) || max < 1))) {
    throw amountError(use, given, method === 'takeAtLeast' ? 'a whole number from 0' : 'whole numbers from 1');
  }
  if (max !== null && min > max) throw amountError(use, given, 'a minimum that is not above the maximum');
  return Object.freeze({ kind: 'channel', ...withId(use, id), type, ...(key === undefined ? {} : { key }), min, max });
}

function amountError(use: string, given: string, expected: string): HoldfastError {
  return new HoldfastError('DEFINITION', `${use} was given ${given}, and needs ${expected}.`, {
    where: use,
    fix: 'Give the number of messages to take.',
  });
}

function withId(use: string, id: unknown): { id?: string } {
  if (id === undefined) return {};
  if (typeof id !== 'string' || id === '') {
    throw new HoldfastError('DEFINITION', `${use}: a condition's id must be a non-empty string.`, {
      where: use,
      fix: "Give an id such as 'reminder', or leave it out.",
    });
  }
  return { id };
}
