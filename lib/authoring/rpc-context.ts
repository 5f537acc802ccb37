import type { Logger } from '../ports';
import type { Movement } from './decision';
import type { AnyStep, InputArgs, InputOf } from './types';

/**
 * Last parameter of a method marked `@Rpc` or `@Query`, for those that want it; callers do not give it. A class, so that the
 * compiler's design types tell which methods declare it; where a build tool emits none, say `@Rpc({ context: true })`.
 */
export abstract class RpcContext {
  /** Makes the type its own, so that no argument of the user's is taken for it. */
  declare private readonly brand: 'RpcContext';
  abstract readonly flowId: string;
  abstract readonly runId: string;
  abstract readonly requestId: string;
  /** Aborts when the answer is no longer wanted. */
  abstract readonly signal: AbortSignal;
  abstract readonly logger: Logger;
  /** Trace context (W3C `traceparent`) of the call, or of the Flow (K5). */
  abstract readonly trace: string | undefined;
  /** Schedules a Step, saved with the answer; only in an `@Rpc` (R3). */
  abstract start<S extends AnyStep>(step: S, ...input: InputArgs<InputOf<S>>): void;
  /** Schedules what `to(Step, input).with(options)` says. */
  abstract go(movement: Movement): void;
  /** Cancels all executions of these Steps, saved with the answer; never one which this call starts (D6). */
  abstract cancel(...steps: AnyStep[]): void;
  /** Deletes an unread message by its id, saved with the answer; one that is read or unknown is passed over (C4). */
  abstract deleteMessage(messageId: string): void;
}
