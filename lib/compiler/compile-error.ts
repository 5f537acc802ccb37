import { HoldfastError } from '../errors';
import { type Finding, formatFindings } from './finding';

/** Thrown by `compile`: code `COMPILE_FAILED`, and everything that is wrong at once in `findings`. */
export class CompileError extends HoldfastError {
  constructor(readonly findings: readonly Finding[]) {
    const count = findings.length === 1 ? '1 problem' : `${findings.length} problems`;
    super('COMPILE_FAILED', `${count} in the annotated classes:\n\n${formatFindings(findings)}\n`, {
      where: findings[0]?.where,
    });
  }
}
