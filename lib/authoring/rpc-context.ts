import type { Logger } from '../ports';
import type { Movement } from './decision';
import type { AnyStep, InputArgs, InputOf } from './types';

declare const rpc: unique symbol;

/** Last argument of a method marked `@Rpc` or `@Query`, for those that want it; callers do not give it. */
export interface RpcContext {
  /** Makes the type its own, so that no argument of the user's is taken for it. */
  readonly [rpc]: true;
  readonly flowId: string;
  readonly runId: string;
  readonly requestId: string;
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Schedules a Step, saved with the answer; only in an `@Rpc` (R3). */
  start<S extends AnyStep>(step: S, ...input: InputArgs<InputOf<S>>): void;
  /** Schedules what `to(Step, input).with(options)` says. */
  go(movement: Movement): void;
  /** Cancels all executions of these Steps, saved with the answer; never one which this call starts (D6). */
  cancel(...steps: AnyStep[]): void;
  /** Deletes an unread message by its id, saved with the answer; one that is read or unknown is passed over (C4). */
  deleteMessage(messageId: string): void;
}
