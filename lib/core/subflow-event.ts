import type { ChildOutcome, ChildRequest, ParentLink } from './child';

/** What a run's history says of its SubFlows and of the Flows whose SubFlow it is. */
export type SubFlowEvent =
  | ChildRequested
  | ChildAdmitted
  | ChildStopAsked
  | ChildStarted
  | ChildClosed
  | ParentAttached
  | OutcomeDelivered;

/** A SubFlow is asked for; it is started from here on, unless it is held (U1). */
export interface ChildRequested {
  readonly kind: 'ChildRequested';
  readonly child: ChildRequest;
  /** The execution that waits for it. */
  readonly execution: string | null;
  /** As many are open as may be at a time (U6). */
  readonly held?: true;
}

/** A SubFlow that was held is started from here on (U6). */
export interface ChildAdmitted {
  readonly kind: 'ChildAdmitted';
  readonly key: string;
}

export interface ChildStopAsked {
  readonly kind: 'ChildStopAsked';
  readonly key: string;
  readonly how: 'cancel' | 'terminate';
}

export interface ChildStarted {
  readonly kind: 'ChildStarted';
  readonly key: string;
  readonly runId: string;
  readonly attached: boolean;
}

export interface ChildClosed {
  readonly kind: 'ChildClosed';
  readonly key: string;
  readonly outcome: ChildOutcome;
}

/** Another Flow waits for this run as its SubFlow (U4). */
export interface ParentAttached {
  readonly kind: 'ParentAttached';
  readonly parent: ParentLink;
}

/** A parent has saved how this run ended (U5). */
export interface OutcomeDelivered {
  readonly kind: 'OutcomeDelivered';
  readonly parentFlowId: string;
  readonly chainId: string;
  readonly key: string;
}
