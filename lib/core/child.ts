import type { Failure } from '../values';
import type { ClosedStatus, FailKind } from './event';
import type { Kept } from './execution';
import type { Payload } from './payload';
import type { StartTerms } from './schedule-state';
import type { Row } from './table';

export type ParentClose = 'terminate' | 'cancel' | 'abandon';
/** `never`: of a schedule's firing, which is refused where its flowId is taken. */
export type ChildReuse = 'attach' | 'restartIfFailed' | 'restart' | 'never';

/** A SubFlow that a run has asked for. Dropped once it has closed and nobody can read its outcome any more. */
export interface ChildRow extends Row {
  readonly key: string;
  /** The execution whose wait it belongs to; null for one that nobody waits for. */
  readonly execution: string | null;
  readonly flowId: string;
  readonly flow: string;
  readonly plan: string;
  /** Of the run it is to begin. */
  readonly newRunId: string;
  /** Until the start is confirmed. */
  readonly input: Kept | null;
  readonly parentClose: ParentClose;
  readonly reuse: ChildReuse;
  /** `held`: it is to start when fewer are open (U6). */
  readonly state: 'held' | 'starting' | 'started' | 'closed';
  /** Once it is started: the run that is the child. */
  readonly runId: string | null;
  /** It was there before: the parent only waits for it (U3). */
  readonly attached: boolean;
  /** It ran when the state was taken that a time travel went back to (K4). */
  readonly again?: true;
  /** How it is to be stopped, as soon as its start is confirmed. */
  readonly stop: Exclude<ParentClose, 'abandon'> | null;
  readonly outcome: ChildOutcome | null;
  /** Number of the event that it closed with: calls with an older snapshot do not see it (S6). */
  readonly closedIn: number | null;
}

/** How a SubFlow ended; `refused`: its start was turned down (U1). */
export interface ChildOutcome {
  readonly runId: string | null;
  readonly status: ClosedStatus | 'refused';
  readonly failKind: FailKind | null;
  readonly failure: Failure | null;
  readonly outputs: readonly (readonly [execution: string, value: Payload])[];
}

/** What a method asks for: a SubFlow by names and bytes. */
export interface ChildRequest {
  readonly key: string;
  readonly flowId: string;
  readonly flow: string;
  readonly plan: string;
  readonly newRunId: string;
  readonly input: Payload | null;
  readonly parentClose: ParentClose;
  readonly reuse: ChildReuse;
}

/** A parent of a run, and whether it has saved how the run ended (U5). */
export interface ParentLink {
  readonly flowId: string;
  readonly chainId: string;
  readonly key: string;
  readonly told: boolean;
  /** The run was there before the parent asked for it. */
  readonly attached?: true;
}

/** What a closed parent still owes its children: a start that is not confirmed, or a stop (U3). Kept with the flowId. */
export interface Obligation extends Row {
  readonly chainId: string;
  readonly key: string;
  readonly childFlowId: string;
  readonly start:
    | (Omit<ChildRequest, 'parentClose' | 'key'> & { readonly terms?: StartTerms; readonly trace?: string })
    | null;
  readonly runId: string | null;
  readonly stop: Exclude<ParentClose, 'abandon'> | null;
}

/** The chain from which the ids of SubFlows are made: the same over time travels. */
export function firstChainOf({
  lines,
  chainId,
}: {
  readonly lines?: readonly string[];
  readonly chainId: string;
}): string {
  return lines?.[0] ?? chainId;
}
