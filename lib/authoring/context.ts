import type { Logger } from '../ports';
import type { Failure } from '../values';
import type { SubFlowOutcome } from './sub-flow';

/** Second argument of `waitFor` and `execute`. */
export interface StepContext {
  readonly flowId: string;
  readonly runId: string;
  /** e.g. `Ship-1` (S2). */
  readonly stepExecutionId: string;
  readonly method: 'waitFor' | 'execute';
  /** 1 for the first attempt of this method call. */
  readonly attempt: number;
  /** What scheduled this execution (S2). */
  readonly from: ScheduledBy;
  /** The same for every attempt of this method call, and different for every other call (S10). */
  readonly idempotencyKey: string;
  /** Aborts when the attempt is no longer wanted: cancelled, timed out, superseded, closing (O2). */
  readonly signal: AbortSignal;
  /** Set in `waitFor`, read in `execute` of the same execution (S4). */
  readonly locals: Locals;
  /** Present in a recovery Step (X8). */
  readonly recovery: Recovery | undefined;
  /** Present in `execute` when `waitFor` had used up its attempts and the policy is `proceed` (X7). */
  readonly waitFailed: Failure | undefined;
  /** Value of the latest heartbeat that was received from an earlier attempt (X3). */
  readonly lastHeartbeat: unknown;
  readonly logger: Logger;
  /** Whether a timer of the wait fired; without id, whether any did (W3). */
  fired(id?: string): boolean;
  /** How the SubFlow of that condition ended, or of the only one; undefined while it has not (W3, U2). */
  subFlow<O = unknown>(id?: string): SubFlowOutcome<O> | undefined;
  /** The Flow whose SubFlow this is (U5). */
  readonly parent: { readonly flowId: string } | undefined;
  /** The schedule that started this run, and the time for which it did, which may be earlier than the start (F11). */
  readonly schedule: { readonly id: string; readonly at: Date } | undefined;
  /** Trace context (W3C `traceparent`) that the Flow was started with, or its parent was (K5). */
  readonly trace: string | undefined;
  /** Keeps this call alive and its newest value for the next attempt (X3). */
  heartbeat(value?: unknown): void;
  /** Adds an event of the user's to the history, saved with the result (S5). */
  recordEvent(name: string, data?: unknown): void;
}

export interface Locals {
  get<T = unknown>(name: string): T | undefined;
  set(name: string, value: unknown): void;
}

export type ScheduledBy =
  | { readonly kind: 'start' }
  | { readonly kind: 'step'; readonly stepExecutionId: string }
  | { readonly kind: 'rpc'; readonly name: string; readonly requestId: string }
  | { readonly kind: 'failure'; readonly stepExecutionId: string }
  /** The Flow's deadline, for its `@OnTimeout` method. */
  | { readonly kind: 'timeout' };

export interface Recovery {
  readonly stepExecutionId: string;
  readonly failure: Failure;
  readonly attempts: number;
  readonly progress: 'NOT_STARTED' | 'NOT_COMPLETED';
}
