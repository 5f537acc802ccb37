import { HoldfastError } from '../errors';
import { type Duration, durationMs } from '../values/duration';
import { type Report, show } from './finding';
import { suggest } from './nearest';

/** Reads options as they are given, also from untyped code: what is wrong is reported and its default taken. */
export class OptionReader {
  constructor(
    /** Class and decorator, e.g. `ShipStep @Step`. */
    readonly where: string,
    readonly report: Report,
  ) {}

  /** The same for a group of options, e.g. `retry`. */
  in(group: string): OptionReader {
    return new OptionReader(`${this.where} ${group}`, this.report);
  }

  /** The same for one member of a list. */
  at(index: number): OptionReader {
    return new OptionReader(`${this.where}[${index}]`, this.report);
  }

  /**
   * The options as an object; refuses other things and names that are not known, of which no one would take notice.
   * `advice` says how to fix some of those.
   */
  object<T extends object>(
    value: T | undefined,
    known: readonly (keyof T & string)[],
    advice: Readonly<Record<string, string>> = {},
  ): Partial<T> {
    if (value === undefined) return {};
    if (value === null || typeof value !== 'object') {
      this.bad('BAD_VALUE', '', value, 'an object of options', 'Give the options in braces, or leave them out.');
      return {};
    }
    for (const key of Object.keys(value)) {
      if ((known as readonly string[]).includes(key)) continue;
      this.report({
        code: 'UNKNOWN_OPTION',
        where: `${this.where} ${key}`,
        found: `an option named ${key}`,
        expected: `one of ${known.join(', ')}`,
        fix: advice[key] ?? suggest(key, known, 'Remove it, or use the name of the option that is meant.'),
      });
    }
    return value;
  }

  duration(name: string, value: Duration, fallback: number, least = 0): number {
    try {
      const ms = durationMs(value, name);
      if (ms >= least) return ms;
      this.bad('BAD_DURATION', name, value, 'more than 0', 'Give a longer time.');
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const expected = "milliseconds from 0 on or a text such as '500ms', '30s', '24h', '7d'; at most 100 years";
      this.bad('BAD_DURATION', name, value, expected, 'Give a duration in one of these forms.');
    }
    return fallback;
  }

  oneOf<const T extends string>(name: string, value: unknown, allowed: readonly T[], fallback: T): T {
    if (allowed.includes(value as T)) return value as T;
    const expected = `one of ${allowed.map((each) => `'${each}'`).join(', ')}`;
    this.bad('UNKNOWN_VALUE', name, value, expected, suggest(value, allowed, 'Use one of these values.'));
    return fallback;
  }

  number(name: string, value: unknown, range: NumberRange, fallback: number): number {
    const { least, most = Number.MAX_SAFE_INTEGER, whole = false } = range;
    const fits = typeof value === 'number' && value >= least && value <= most && (!whole || Number.isInteger(value));
    if (fits) return value;
    const kind = whole ? 'a whole number' : 'a number';
    const expected = range.most === undefined ? `${kind} from ${least}` : `${kind} from ${least} to ${most}`;
    this.bad('BAD_VALUE', name, value, expected, 'Give a number in that range, or leave it out for the default.');
    return fallback;
  }

  boolean(name: string, value: unknown, fallback: boolean): boolean {
    if (typeof value === 'boolean') return value;
    this.bad('BAD_VALUE', name, value, 'true or false', 'Give true or false.');
    return fallback;
  }

  /** Names of task queues. */
  queue(name: string, value: unknown, fallback: string): string {
    if (typeof value === 'string' && value !== '' && !value.includes('\0') && value.length <= 128) return value;
    this.bad('BAD_VALUE', name, value, 'a name of 1 to 128 characters', 'Give the name of a task queue.');
    return fallback;
  }

  bad(
    code: 'BAD_VALUE' | 'BAD_DURATION' | 'UNKNOWN_VALUE',
    name: string,
    value: unknown,
    expected: string,
    fix: string,
  ) {
    this.report({ code, where: name === '' ? this.where : `${this.where} ${name}`, found: show(value), expected, fix });
  }
}

export interface NumberRange {
  readonly least: number;
  readonly most?: number;
  readonly whole?: boolean;
}
