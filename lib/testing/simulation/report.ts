import { createHash } from 'node:crypto';
import type { FaultKind } from './faults';

export interface Violation {
  /** Id of the rule in the contract, or the name of a check. */
  readonly rule: string;
  readonly what: string;
}

export interface SimulationReport {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly events: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly struck: number;
  readonly flows: number;
  readonly bodies: number;
  readonly historyEvents: number;
  readonly virtualMs: number;
  readonly log: readonly string[];
}

/** A digest of a log, to compare two runs. */
export function digestOf(log: readonly string[]): string {
  return createHash('sha256').update(log.join('\n')).digest('hex').slice(0, 16);
}
