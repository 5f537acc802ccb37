import type { FlowClass, FlowInput } from '../authoring';
import type { Nothing } from '../authoring/storable';
import { calendarOf, type Overlap, type RegisterScheduleCommand } from '../core';
import { HoldfastError } from '../errors';
import { checkId, encode } from '../values';
import { type Duration, durationMs } from '../values/duration';
import { type InitialAttribute, lowerInitial } from './attribute-values';
import type { Requests } from './requests';
import { type ConfigOptions, lowerConfig } from './start-options';

/** When a schedule fires: by a cron pattern of a time zone, or at a fixed interval. */
export type ScheduleTiming =
  | {
      /**
       * Five fields, `'30 2 * * *'`, or six with seconds first. A time that the clock leaps over fires once, where the leap
       * ends; one that it shows twice fires the first time. With `*` as hour it follows real time.
       */
      readonly cron: string;
      /** IANA name, such as `'Europe/Berlin'`; what is on the wall there counts. */
      readonly timeZone: string;
    }
  /** Counted from the registration, at least 1 s. */
  | { readonly every: Duration };

/** What a schedule starts, when, and what it does where runs would overlap (F11). */
export type ScheduleDefinition<F extends FlowClass> = ScheduleTiming &
  ConfigOptions &
  InputField<FlowInput<F>> & {
    readonly flow: F;
    /**
     * While a run of it is open: `skip` the firing; `bufferOne`, which starts when the run has closed; `allow` another run;
     * `cancelPrevious`, and start when it has closed [skip].
     */
    readonly overlap?: Overlap;
    /** Firings that were missed for no longer than this, as no engine ran, are made up for [24 h]. */
    readonly catchUp?: Duration;
    /** Of its runs, before the time they stand for: `<flowId>/2027-03-14T06:30:00.000Z` [the id of the schedule]. */
    readonly flowId?: string;
    /** Values of Attributes that the first Step sees. */
    readonly attributes?: readonly InitialAttribute[];
    /** Of each run, from its start; null for none [the Flow's]. */
    readonly timeout?: Duration | null;
  };

type InputField<I> = [I] extends [Nothing]
  ? { readonly input?: undefined }
  : undefined extends I
    ? { readonly input?: I }
    : { readonly input: I };

const overlaps = ['skip', 'bufferOne', 'allow', 'cancelPrevious'];
/** What a run's flowId has after its first part, at its longest. */
const longestSuffix = '/2027-03-14T06:30:00.000Z~9999999999';

export function lowerSchedule<F extends FlowClass>(
  requests: Requests,
  id: string,
  definition: ScheduleDefinition<F>,
): Omit<RegisterScheduleCommand, 'requestId' | 'digest' | 'incarnation'> {
  const { flow, overlap = 'skip', catchUp = '24h', flowId = id, attributes, timeout, input, ...rest } = definition;
  const compiled = requests.flow(flow);
  const { name, fingerprint } = compiled.plan;
  checkId(`${checkId(flowId, 'flowId')}${longestSuffix}`, 'flowId of the runs');
  return {
    kind: 'registerSchedule',
    plan: fingerprint,
    timing: lowerTiming(rest),
    overlap: checkOverlap(overlap),
    catchUpMs: durationMs(catchUp, 'catchUp'),
    flowId,
    input: input === undefined ? null : encode(input, `input of ${name}`),
    terms: {
      attributes: lowerInitial(compiled, attributes ?? []),
      ...(timeout !== undefined && { timeoutMs: timeout === null ? null : durationMs(timeout, 'timeout') }),
      config: lowerConfig(rest),
    },
  };
}

export function checkOverlap(overlap: Overlap): Overlap {
  if (overlaps.includes(overlap)) return overlap;
  throw new HoldfastError('INVALID_ARGUMENT', `overlap cannot be ${JSON.stringify(overlap)}.`, {
    fix: `Give one of ${overlaps.join(', ')}.`,
  });
}

function lowerTiming(timing: ScheduleTiming): RegisterScheduleCommand['timing'] {
  const hasCron = 'cron' in timing && timing.cron !== undefined;
  const hasEvery = 'every' in timing && timing.every !== undefined;
  if (hasCron === hasEvery) {
    throw new HoldfastError('INVALID_ARGUMENT', 'A schedule has either cron and timeZone, or every.');
  }
  if (!hasCron) {
    const everyMs = durationMs((timing as { every: Duration }).every, 'every');
    if (everyMs >= 1_000) return { kind: 'interval', everyMs };
    throw new HoldfastError(
      'INVALID_DURATION',
      `every: a schedule fires at most once a second, not every ${everyMs} ms.`,
    );
  }
  const { cron, timeZone } = timing as { cron: string; timeZone: string };
  if (typeof timeZone !== 'string') {
    throw new HoldfastError('INVALID_ARGUMENT', 'A cron pattern needs a timeZone.', {
      fix: "Give an IANA name such as 'Europe/Berlin' or 'UTC'.",
    });
  }
  const lowered = { kind: 'cron', pattern: cron, timeZone } as const;
  calendarOf(lowered);
  return lowered;
}
