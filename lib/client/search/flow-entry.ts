import type { FailKind } from '../../core';
import type { IndexedRun } from '../../ports';
import type { FlowStatus } from './flow-query';

/** A run as a listing gives it: as it was a moment ago; `describe` knows what is now. */
export interface FlowEntry {
  readonly flowId: string;
  readonly runId: string;
  readonly flow: string;
  readonly status: FlowStatus;
  readonly failKind: FailKind | null;
  readonly startedAt: number;
  readonly closedAt: number | null;
  /** flowIds of the Flows whose SubFlow it is. */
  readonly parents: readonly string[];
  /** Steps that no worker has, or why the run cannot be read. */
  readonly blocked: readonly string[];
  /** Indexed Attributes by name, but for those with the index `text`; a bigint comes as a number. */
  readonly attributes: Readonly<Record<string, string | number | boolean | Date | readonly string[]>>;
  /** The same for all runs of a chain made by continue-as-new. */
  readonly chainId: string;
}

export interface FlowPage {
  readonly flows: readonly FlowEntry[];
  /** For `cursor`, where there is another page. */
  readonly next: string | null;
}

export function entryOf(run: IndexedRun): FlowEntry {
  const { flowId, runId, chainId, flow, startedAt, closedAt, parents, blocked } = run;
  const attributes: Record<string, string | number | boolean | Date | readonly string[]> = {};
  for (const { name, kind, shown } of run.attributes) {
    if (shown !== null) attributes[name] = kind === 'datetime' ? new Date(shown as number) : shown;
  }
  return {
    ...{ flowId, runId, flow, startedAt, closedAt, parents, blocked, attributes, chainId },
    status: run.status as FlowStatus,
    failKind: run.failKind as FailKind | null,
  };
}
