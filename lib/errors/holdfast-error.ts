import { catalogue, type ErrorCode, type ErrorKind } from './catalogue';

export interface ErrorDetails {
  /** The class, Step, Flow, path or value the error is about. */
  readonly where?: string;
  /** What to do about it, when the catalogue's general advice can be made more precise. */
  readonly fix?: string;
  readonly cause?: unknown;
}

/**
 * Base of every error this library throws. `code` is stable and listed in `docs/errors.md`; `kind` says what a caller can
 * do: `definition` and `usage` mean change the code, `conflict` and `rejected` are answers, `transient` may be retried with
 * the same id, `fenced` means another owner took over, `corrupt` means stored data cannot be read.
 */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly where: string | undefined;
  readonly fix: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.kind = catalogue[code].kind;
    this.where = details.where;
    this.fix = details.fix ?? catalogue[code].fix;
    this.name = catalogue[code].name;
  }
}
