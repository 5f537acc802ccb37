import { Cron } from 'croner';
import { HoldfastError } from '../errors';
import { TimeZone } from './time-zone';

/** When a schedule fires. */
export type Timing =
  | { readonly kind: 'cron'; readonly pattern: string; readonly timeZone: string }
  | { readonly kind: 'interval'; readonly everyMs: number; readonly anchorAt: number };

export interface Calendar {
  /** The first time after an instant, milliseconds since the epoch; null: never again. */
  next(after: number): number | null;
}

/** Patterns are parsed once, as long as there are not too many. */
const parsed = new Map<string, Calendar>();
const mostParsed = 1_000;

/** Throws `INVALID_ARGUMENT` for a pattern or time zone that cannot be read, and for one that has no time at all. */
export function calendarOf(timing: Timing): Calendar {
  if (timing.kind === 'interval') return new Interval(timing);
  const key = JSON.stringify([timing.pattern, timing.timeZone]);
  const known = parsed.get(key);
  if (known) return known;
  const calendar = new CronCalendar(timing.pattern, timing.timeZone);
  if (parsed.size >= mostParsed) parsed.clear();
  parsed.set(key, calendar);
  return calendar;
}

class Interval implements Calendar {
  constructor(private readonly timing: Timing & { readonly kind: 'interval' }) {}

  next(after: number): number {
    const { everyMs, anchorAt } = this.timing;
    return anchorAt + (Math.floor((after - anchorAt) / everyMs) + 1) * everyMs;
  }
}

/** Longest time by which clocks are put back. */
const longestFoldMs = 3 * 3_600_000;

/**
 * The pattern is matched against the wall clock, as if it never jumped; here its times become instants. One that the clock
 * leaps over is where the leap ends, one that it shows twice is the first. A pattern for every hour follows real time
 * instead: it is no longer due in an hour that is left out, and due again in one that is repeated (F11).
 */
class CronCalendar implements Calendar {
  private readonly cron: Cron;
  private readonly zone: TimeZone;
  private readonly everyHour: boolean;

  constructor(pattern: string, timeZone: string) {
    this.zone = new TimeZone(timeZone);
    const fields = typeof pattern === 'string' ? pattern.trim().split(/\s+/) : [];
    this.cron = parse(pattern, fields.length);
    this.everyHour = ['*', '*/1', '0-23'].includes(fields[fields.length - 4]!);
  }

  next(after: number): number | null {
    let from = after;
    let since = after;
    let offset = this.zone.offsetAt(since);
    for (;;) {
      const local = this.nextLocal(from + offset);
      if (local === null) return null;
      const at = local - offset;
      const leap = this.zone.firstChange(since, at);
      if (leap === undefined) {
        const end = this.everyHour ? undefined : this.endOfRepeat(local, offset);
        if (end === undefined) return at;
        from = end - 1;
        continue;
      }
      const before = offset;
      offset = this.zone.offsetAt(leap);
      if (!this.everyHour && this.leapsOver(leap + before, leap + offset)) return leap;
      since = leap;
      from = leap - 1;
    }
  }

  /** Whether there is a time from one wall clock time until, not including, another. */
  private leapsOver(from: number, until: number): boolean {
    const local = until > from ? this.nextLocal(from - 1) : null;
    return local !== null && local < until;
  }

  /** If the clock has shown this time before, an hour or so ago: when it will show new times again. */
  private endOfRepeat(local: number, offset: number): number | undefined {
    const at = local - offset;
    const before = this.zone.offsetAt(at - longestFoldMs);
    if (before <= offset || this.zone.offsetAt(local - before) !== before) return undefined;
    return this.zone.firstChange(at - longestFoldMs, at)! + before - offset;
  }

  /** Wall clock times stand for themselves as UTC. */
  private nextLocal(after: number): number | null {
    return this.cron.nextRun(new Date(after))?.getTime() ?? null;
  }
}

function parse(pattern: string, fields: number): Cron {
  const wrong = (why: string, cause?: unknown) =>
    new HoldfastError('INVALID_ARGUMENT', `cron cannot be ${JSON.stringify(pattern)}: ${why}`, {
      fix: "Give five fields, such as '30 2 * * *', or six with seconds first.",
      cause,
    });
  if (fields !== 5 && fields !== 6) throw wrong(`it has ${fields} fields.`);
  let cron: Cron;
  try {
    cron = new Cron(pattern, { timezone: 'UTC' });
  } catch (error) {
    throw wrong((error as Error).message, error);
  }
  if (cron.nextRun(new Date(0)) === null) throw wrong('no day has such a time.');
  return cron;
}
