import { type Event, nameOf, type Payload, type RunHead, type RunState } from '../core';
import { HoldfastError } from '../errors';
import type { FlowPlan, IndexKind } from '../plan';
import type { IndexedAttribute, IndexedRun, Logger, ShardStore } from '../ports';
import { decode, indexTerms } from '../values';
import type { Plans } from './plans';
import { RunRecord } from './run-record';

/** What the index shows of a run at one moment; its values are still encoded. */
export interface CapturedRun {
  readonly head: RunHead;
  readonly attributes: readonly (readonly [name: string, kind: IndexKind, value: Payload])[];
}

/** What the index is told of a run: what it shows, that its record is gone, or that it cannot be read. */
export type Told = CapturedRun | 'gone' | 'unreadable';

/** Whether events change what the index shows of their run. */
export function isShown(events: readonly Event[], plan: FlowPlan): boolean {
  return events.some((event) => {
    if (beginnings.has(event.kind) || event.kind === 'FlowClosed' || event.kind === 'ParentAttached') return true;
    return 'staged' in event && event.staged.attributes.some(([address]) => plan.attributes[nameOf(address)]?.index);
  });
}

const beginnings: ReadonlySet<string> = new Set(['FlowStarted', 'RunContinued', 'TimeTravelled']);

/** @param plan in the words of the run; the index knows Attributes by their present names. */
export function captureRun(run: RunState, plan: FlowPlan): CapturedRun {
  const attributes = Object.entries(plan.attributes).flatMap(([stored, { name, index }]) => {
    const value = index === null ? undefined : run.attributes.read(stored);
    return value === undefined ? [] : [[name, index!, value] as const];
  });
  return { head: run.head, attributes };
}

/** The same from the store. */
export async function readRunToTell(store: ShardStore, plans: Plans, logger: Logger, runId: string): Promise<Told> {
  try {
    const run = (await RunRecord.load(store, runId))?.run;
    return run ? captureRun(run, plans.of(run)) : 'gone';
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.kind !== 'corrupt') throw error;
    logger.warn('a run cannot be read and keeps its row in the index', { runId, error });
    return 'unreadable';
  }
}

export function indexedRun({ head, attributes }: CapturedRun, blocked: readonly string[]): IndexedRun {
  const { flowId, runId, chainId, flow, status, failKind, startedAt, closedAt, events, parents } = head;
  return {
    ...{ flowId, runId, chainId, flow, status, failKind, startedAt, closedAt, events },
    parents: parents.map((parent) => parent.flowId),
    blocked: status === 'running' ? blocked : [],
    attributes: attributes.flatMap(([name, kind, value]) => indexedAttribute(name, kind, value)),
  };
}

/** Nothing for a value that does not fit: it was set when the Attribute had another index, or none. */
function indexedAttribute(name: string, kind: IndexKind, payload: Payload): IndexedAttribute[] {
  const terms = indexTerms(kind, plainOf(payload));
  return terms ? [{ name, kind, ...terms }] : [];
}

/** The value that is indexed: where a codec made it, what the codec gave. */
function plainOf(payload: Payload): unknown {
  const value = decode(payload) as { codec?: unknown; value?: unknown } | null;
  return typeof value === 'object' && typeof value?.codec === 'string' ? value.value : value;
}
