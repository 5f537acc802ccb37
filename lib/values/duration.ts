import { HoldfastError } from '../errors';

/** Milliseconds from 0 on, or a text such as `'500ms'`, `'30s'`, `'15m'`, `'24h'`, `'7d'`, `'1h30m'`. */
export type Duration = number | string;

/** Longest duration: a hundred years, so that now + duration stays far inside the safe integers and valid dates. */
export const maximumDurationMs = 100 * 365 * 86_400_000;

/** Latest instant a `Date` can hold. */
const maximumInstantMs = 8.64e15;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const whole = /^\s*(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\s*)+$/;
const part = /(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/g;

/**
 * Whole milliseconds of a duration; fractions round up, so that nothing is early. The one place where durations are
 * checked (W6). Throws `INVALID_DURATION` for negative, NaN, infinite, unparsable and over-long ones; `where` names the
 * option or call the value was given to.
 */
export function durationMs(value: Duration, where: string): number {
  const ms = typeof value === 'string' ? parse(value) : value;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) {
    throw invalid(value, where, 'is not a duration');
  }
  if (ms > maximumDurationMs) throw invalid(value, where, 'is longer than 100 years');
  // `+ 0` makes -0 a plain zero.
  return Math.ceil(ms) + 0;
}

/**
 * Milliseconds since the epoch of a `Date` or a number; a past instant is valid and means now (W6). Throws
 * `INVALID_DURATION` for an invalid `Date`, NaN and infinities.
 */
export function instantMs(value: Date | number, where: string): number {
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || Math.abs(ms) > maximumInstantMs) {
    throw new HoldfastError('INVALID_DURATION', `${where}: ${show(value)} is not a point in time.`, {
      where,
      fix: 'Give a valid Date, or milliseconds since the epoch.',
    });
  }
  return Math.ceil(ms) + 0;
}

function parse(text: string): number {
  if (!whole.test(text)) return Number.NaN;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(part)) ms += Number(amount) * unitMs[unit];
  return ms;
}

function invalid(value: unknown, where: string, what: string): HoldfastError {
  return new HoldfastError('INVALID_DURATION', `${where}: ${show(value)} ${what}.`, { where });
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  return value !== null && typeof value === 'object' ? 'an object' : String(value);
}
