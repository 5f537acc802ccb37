import { HoldfastError } from '../errors';

/** Clocks are not changed twice within this time. */
const stretchMs = 7 * 86_400_000;

/** How far the wall clock of an IANA time zone is ahead of UTC, and when that changes. */
export class TimeZone {
  private readonly format: Intl.DateTimeFormat;

  /** Throws `INVALID_ARGUMENT` for a zone that is not known here. */
  constructor(name: string) {
    try {
      this.format = new Intl.DateTimeFormat('en-US', {
        timeZone: name,
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      });
    } catch (cause) {
      throw new HoldfastError('INVALID_ARGUMENT', `timeZone ${JSON.stringify(name)} is not known.`, {
        fix: "Give an IANA name such as 'Europe/Berlin' or 'UTC'.",
        cause,
      });
    }
  }

  /** Milliseconds that the wall clock is ahead of UTC at an instant. */
  offsetAt(instant: number): number {
    const second = Math.floor(instant / 1_000) * 1_000;
    const parts: Record<string, number> = {};
    for (const { type, value } of this.format.formatToParts(second)) parts[type] = Number(value);
    const { year, month, day, hour, minute, second: seconds } = parts;
    return Date.UTC(year!, month! - 1, day!, hour!, minute!, seconds!) - second;
  }

  /** The first instant in (after, until] at which the offset is another than just before. */
  firstChange(after: number, until: number): number | undefined {
    const offset = this.offsetAt(after);
    let low = after;
    while (low < until) {
      let high = Math.min(low + stretchMs, until);
      if (this.offsetAt(high) === offset) {
        low = high;
        continue;
      }
      while (high - low > 1) {
        const middle = low + Math.floor((high - low) / 2);
        if (this.offsetAt(middle) === offset) low = middle;
        else high = middle;
      }
      return high;
    }
    return undefined;
  }
}
