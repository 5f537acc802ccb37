import type { Logger } from '../ports';

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
}
