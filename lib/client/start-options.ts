import type { FlowInput } from '../authoring';
import type { Nothing } from '../authoring/storable';
import type { IdReuse } from '../core';
import type { Durability } from '../plan';
import type { Duration } from '../values/duration';
import type { InitialAttribute } from './attribute-values';
import type { RequestOptions } from './settings';

export interface StartOptions extends RequestOptions {
  /** Whether a flowId that was used before may be used again [`reject`] (F4). */
  readonly idReuse?: IdReuse;
  /** Accept the Flow now and run its start Step later [0] (F6). */
  readonly startDelay?: Duration;
  /** From start; null for none [the Flow's] (F7). */
  readonly timeout?: Duration | null;
  /** Values of Attributes that the first Step sees (F8). */
  readonly attributes?: readonly InitialAttribute[];
  /** [the Flow's] (P1) */
  readonly durability?: Durability;
  /** [the Flow's] (N5) */
  readonly retention?: Duration;
}

/** The input of a Flow, left out or undefined where it takes none, and options. */
export type StartArguments<F> = [FlowInput<F>] extends [Nothing]
  ? [input?: undefined, options?: StartOptions]
  : undefined extends FlowInput<F>
    ? [input?: FlowInput<F>, options?: StartOptions]
    : [input: FlowInput<F>, options?: StartOptions];
