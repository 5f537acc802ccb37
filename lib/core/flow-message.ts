import type { ChildOutcome, ChildReuse, ParentLink } from './child';
import type { Payload } from './payload';
import type { StartTerms } from './schedule-state';

/** Messages between flows, each sent until the other has answered. */
export type FlowMessage =
  | ChildStartCommand
  | ChildStopCommand
  | ChildStartedCommand
  | ChildClosedCommand
  | ChildToldCommand;

export interface ChildStartCommand {
  readonly kind: 'childStart';
  readonly parent: Omit<ParentLink, 'told'>;
  readonly flow: string;
  readonly plan: string;
  readonly newRunId: string;
  readonly input: Payload | null;
  readonly reuse: ChildReuse;
  readonly terms?: StartTerms;
  /** Trace context of the parent (K5). */
  readonly trace?: string;
  /** It ran when the state was taken that a time travel went back to: it is attached to again, and not started. */
  readonly again?: true;
  /** Chains of the parent before this one: a SubFlow that they started is known by its key (K4). */
  readonly lines?: readonly string[];
}

export interface ChildStopCommand {
  readonly kind: 'childStop';
  readonly parent: Omit<ParentLink, 'told'>;
  readonly runId: string;
  readonly how: 'terminate' | 'cancel';
}

export interface ChildStartedCommand {
  readonly kind: 'childStarted';
  readonly chainId: string;
  readonly key: string;
  readonly childFlowId: string;
  readonly runId: string;
  readonly attached: boolean;
}

export interface ChildClosedCommand {
  readonly kind: 'childClosed';
  readonly chainId: string;
  readonly key: string;
  readonly childFlowId: string;
  readonly outcome: ChildOutcome;
}

export interface ChildToldCommand {
  readonly kind: 'childTold';
  readonly parentFlowId: string;
  readonly chainId: string;
  readonly key: string;
}
