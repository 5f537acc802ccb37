import type { FlowInput, HistoryLimit } from '../authoring';
import type { Nothing } from '../authoring/storable';
import type { IdReuse } from '../core';
import { HoldfastError } from '../errors';
import type { Durability, FlowConfig } from '../plan';
import { type Duration, durationMs } from '../values/duration';
import type { InitialAttribute } from './attribute-values';
import type { TracedOptions } from './settings';

/** Settings of one run, in place of its Flow's (F9). */
export interface ConfigOptions {
  /** [the Flow's] (P1) */
  readonly durability?: Durability | undefined;
  /** Events, or events and bytes [the Flow's] (N3). */
  readonly historyLimit?: number | HistoryLimit | undefined;
  /** [the Flow's] (N5) */
  readonly retention?: Duration | undefined;
  /** SubFlows that are starting or open at a time [the Flow's] (U6). */
  readonly childrenAtOnce?: number | undefined;
}

export function lowerConfig(options: ConfigOptions): Partial<FlowConfig> {
  const { durability, historyLimit, retention, childrenAtOnce } = options;
  if (durability !== undefined && durability !== 'SYNC' && durability !== 'ASYNC') {
    throw new HoldfastError('INVALID_ARGUMENT', `durability is SYNC or ASYNC, not ${JSON.stringify(durability)}.`);
  }
  const { events, bytes } = typeof historyLimit === 'number' ? { events: historyLimit } : (historyLimit ?? {});
  return {
    ...(durability && { durability }),
    ...(events !== undefined && { historyLimitEvents: limitOf('historyLimit events', events) }),
    ...(bytes !== undefined && { historyLimitBytes: limitOf('historyLimit bytes', bytes) }),
    ...(retention !== undefined && { retentionMs: durationMs(retention, 'retention') }),
    ...(childrenAtOnce !== undefined && { childrenAtOnce: limitOf('childrenAtOnce', childrenAtOnce) }),
  };
}

function limitOf(what: string, limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new HoldfastError('INVALID_ARGUMENT', `${what} is a whole number from 1, not ${String(limit)}.`);
}

export interface StartOptions extends TracedOptions, ConfigOptions {
  /** Whether a flowId that was used before may be used again [`reject`] (F4). */
  readonly idReuse?: IdReuse;
  /** Accept the Flow now and run its start Step later [0] (F6). */
  readonly startDelay?: Duration;
  /** From start; null for none [the Flow's] (F7). */
  readonly timeout?: Duration | null;
  /** Values of Attributes that the first Step sees (F8). */
  readonly attributes?: readonly InitialAttribute[];
}

/** The input of a Flow, left out or undefined where it takes none, and options. */
export type StartArguments<F> = [FlowInput<F>] extends [Nothing]
  ? [input?: undefined, options?: StartOptions]
  : undefined extends FlowInput<F>
    ? [input?: FlowInput<F>, options?: StartOptions]
    : [input: FlowInput<F>, options?: StartOptions];
