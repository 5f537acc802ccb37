/** An error as it is stored and sent: plain, bounded, whatever was thrown (C43). */
export interface Failure {
  /** The error's name, e.g. `TypeError`; matched by `retry.nonRetryable`. */
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: Failure;
  /** Members of an AggregateError. */
  readonly errors?: readonly Failure[];
  /** Own enumerable properties of the error that can be kept. */
  readonly details?: unknown;
}
