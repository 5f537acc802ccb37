import type { Duration } from '../values/duration';

/** Of one call of the client (K2). */
export interface CallOptions {
  /** Ends the wait for the answer; the request itself may still be applied. */
  readonly signal?: AbortSignal;
  /** Longest wait for the answer, e.g. `'5s'` [60 s; none where the call waits for a Flow or Step to end]. */
  readonly deadline?: Duration;
}

/** Of one call that changes something: a repeat with the same id is applied once (I1). */
export interface RequestOptions extends CallOptions {
  /** [a new one] */
  readonly requestId?: string;
}

/** Of one call that runs handlers. */
export interface TracedOptions extends RequestOptions {
  /** W3C `traceparent`, for the handlers and the SubFlows they start [none] (K5). */
  readonly trace?: string;
}
