import type { MethodName } from '../plan';
import type { Event } from './event';
import type { RunState } from './run-state';

/** A moment in the history of a run (K4). */
export type TravelTarget =
  | { readonly kind: 'beginning' }
  /** Just before the method call was first handed out. */
  | { readonly kind: 'step'; readonly execution: string; readonly method: MethodName }
  /** Right after the event, by its number in the run's history. */
  | { readonly kind: 'event'; readonly event: number };

/** What a client asks. */
export interface TimeTravelRequest {
  readonly kind: 'timeTravel';
  readonly requestId: string;
  readonly digest: string;
  /** The run that is gone back in; null: the latest, and for a Step the latest of its chain that has it. */
  readonly runId: string | null;
  readonly to: TravelTarget;
  /** Of the run that begins. */
  readonly newRunId: string;
  /** Whether what clients sent after that moment is applied again. */
  readonly reapply: boolean;
  readonly reason: string;
}

/** The same with what is to be read from the history before it can be decided. */
export interface TimeTravelCommand extends TimeTravelRequest {
  /** By which it is decided [that of the latest run]. */
  readonly plan?: string;
  /** null: there is nothing to read, or the request is a known one. */
  readonly past: Past | null;
}

/** A moment that is past, made from history. */
export interface Past {
  /** The state of that moment; the new run takes it over. */
  readonly source: RunState;
  /** The chain of the latest run when the history was read. */
  readonly chainId: string;
  /** When it was. */
  readonly at: number;
  /** What came after it, as far as it can be applied again. */
  readonly later: readonly Event[];
}
