import { type Duration, durationMs } from '../values/duration';

/** Thrown by a method to say when its next attempt comes; made by `retryAfter` (X1). */
export class RetryAfter extends Error {
  constructor(
    readonly delayMs: number,
    cause?: unknown,
  ) {
    super(
      cause instanceof Error ? cause.message : `Retry after ${delayMs} ms.`,
      cause === undefined ? undefined : { cause },
    );
    this.name = 'RetryAfter';
  }
}

/**
 * `throw retryAfter('30s', cause)` fails the attempt and sets the delay before the next one, in place of the policy's; the
 * policy's limits on attempts and total duration still hold (X1). Throws `INVALID_DURATION`.
 */
export function retryAfter(delay: Duration, cause?: unknown): RetryAfter {
  return new RetryAfter(durationMs(delay, 'retryAfter'), cause);
}

/** Thrown by a validator to turn an RPC down: the caller gets message and details, and nothing is written (R4). */
export class RpcRejected extends Error {
  constructor(
    message: string,
    readonly details?: unknown,
  ) {
    super(message);
    this.name = 'RpcRejected';
  }
}
