import type { FlowClass } from '../../authoring';
import type { Compiled, CompiledFlow } from '../../compiler';
import type { ClosedStatus } from '../../core';
import { HoldfastError } from '../../errors';
import { canonicalJson } from '../../plan';
import type { Class, IndexFilter, IndexOrder, IndexQuery, IndexRange } from '../../ports';
import { digest } from '../../values';
import { instantMs } from '../../values/duration';
import type { Filter } from './filter';
import { lowerFilter } from './lower-filter';

export type FlowStatus = 'running' | ClosedStatus;

/** From a time on, and before another: a Date or milliseconds since the epoch. */
export interface TimeRange {
  readonly from?: Date | number;
  readonly to?: Date | number;
}

/** What runs have to be like; all that is given must hold. */
export interface FlowConditions {
  /** Classes, or names of Flows that this process does not have. */
  readonly flow?: FlowClass | string | readonly (FlowClass | string)[];
  readonly status?: FlowStatus | readonly FlowStatus[];
  readonly flowId?: string | readonly string[] | { readonly startsWith: string };
  /** flowId of a Flow whose SubFlow it is (U5). */
  readonly parent?: string;
  readonly startedAt?: TimeRange;
  /** Closed runs only. */
  readonly closedAt?: TimeRange;
  /** Whether it lacks a worker for a Step, or cannot be read (V3, P10). */
  readonly blocked?: boolean;
  readonly where?: readonly Filter[];
}

export interface FlowQuery extends FlowConditions {
  /** By `closedAt` there are closed runs only [`startedAt`]. */
  readonly orderBy?: IndexOrder;
  /** [`desc`, for `flowId` `asc`] */
  readonly direction?: 'asc' | 'desc';
  /** Runs in one page, from 1 to 1,000 [100]. */
  readonly limit?: number;
  /** `next` of the page before; for the same query. */
  readonly cursor?: string | null;
}

const statuses: readonly FlowStatus[] = ['running', 'completed', 'failed', 'cancelled', 'terminated', 'continuedAsNew'];
const orders: readonly IndexOrder[] = ['startedAt', 'closedAt', 'flowId'];

/** A query as an index takes it, with the digest that its cursors carry. */
export interface LoweredQuery {
  readonly query: IndexQuery;
  readonly digest: string;
}

/** Throws `INVALID_ARGUMENT`. */
export function lowerQuery(query: FlowQuery, compiled: Compiled): LoweredQuery {
  const { orderBy = 'startedAt', limit = 100 } = query;
  const { direction = orderBy === 'flowId' ? 'asc' : 'desc' } = query;
  oneOf('orderBy', orderBy, orders);
  oneOf('direction', direction, ['asc', 'desc']);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
    throw new HoldfastError('INVALID_ARGUMENT', `limit is a whole number from 1 to 1000, not ${limit}.`);
  }
  const filters = lowerConditions(query, compiled);
  const descending = direction === 'desc';
  const shape = digest(canonicalJson({ filters, orderBy, descending }));
  const after = query.cursor == null ? null : placeOf(query.cursor, shape);
  return { query: { filters, orderBy, descending, after, limit }, digest: shape };
}

/** What a page ends with; opaque to users. */
export function cursorOf(digest: string, key: string | number, runId: string): string {
  return Buffer.from(JSON.stringify([digest, key, runId])).toString('base64url');
}

function placeOf(cursor: string, shape: string): NonNullable<IndexQuery['after']> {
  try {
    const [of, key, runId] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [
      string,
      string | number,
      string,
    ];
    if (of === shape && typeof runId === 'string' && key != null) return { key, runId };
  } catch {}
  throw new HoldfastError('INVALID_ARGUMENT', 'The cursor is not one of this query.', {
    fix: 'Give `next` of a page of the same query, or no cursor for the first page.',
  });
}

function lowerConditions(query: FlowConditions, compiled: Compiled): IndexFilter[] {
  const { flow, status, flowId, parent, startedAt, closedAt, blocked, where = [] } = query;
  const filters: IndexFilter[] = [];
  const given = flow === undefined ? [] : listOf(flow);
  const flows = given.flatMap((each) => flowOf(each, compiled) ?? []);
  if (flow !== undefined)
    filters.push({ kind: 'is', field: 'flow', values: given.flatMap((each) => namesOf(each, compiled)) });
  if (status !== undefined) {
    for (const each of listOf(status)) oneOf('status', each, statuses);
    filters.push({ kind: 'is', field: 'status', values: listOf(status) });
  }
  if (typeof flowId === 'object' && 'startsWith' in flowId) {
    filters.push({ kind: 'startsWith', field: 'flowId', prefix: text('flowId.startsWith', flowId.startsWith) });
  } else if (flowId !== undefined) {
    filters.push({ kind: 'is', field: 'flowId', values: listOf(flowId).map((each) => text('flowId', each)) });
  }
  if (parent !== undefined) filters.push({ kind: 'is', field: 'parent', values: [text('parent', parent)] });
  if (startedAt) filters.push({ kind: 'range', field: 'startedAt', range: rangeOf('startedAt', startedAt) });
  if (closedAt) filters.push({ kind: 'range', field: 'closedAt', range: rangeOf('closedAt', closedAt) });
  if (blocked !== undefined) filters.push({ kind: 'blocked', is: blocked });
  for (const filter of where) filters.push(lowerFilter(filter, compiled, flows));
  return filters;
}

function namesOf(flow: FlowClass | string, compiled: Compiled): readonly string[] {
  const known = flowOf(flow, compiled);
  if (known) return [known.plan.name, ...known.plan.aliases];
  if (typeof flow === 'string') return [text('flow', flow)];
  throw new HoldfastError('INVALID_ARGUMENT', `${flow?.name ?? flow} is not one of the Flows given at opening.`, {
    fix: 'Add the class to `flows`, or ask by name.',
  });
}

function flowOf(flow: FlowClass | string, compiled: Compiled): CompiledFlow | undefined {
  return typeof flow === 'string' ? compiled.flowNamed(flow) : compiled.flowOf(flow as unknown as Class);
}

function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? value : [value as T];
}

function rangeOf(name: string, { from, to }: TimeRange): IndexRange {
  return {
    ...(from !== undefined && { atLeast: instantMs(from, `${name}.from`) }),
    ...(to !== undefined && { below: instantMs(to, `${name}.to`) }),
  };
}

/** Texts that a database cannot hold find nothing anywhere. */
function text(name: string, value: unknown): string {
  if (typeof value === 'string' && !value.includes('\u0000') && !/\p{Surrogate}/u.test(value)) return value;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `${name} is a well-formed text without NUL, not ${JSON.stringify(value)}.`,
  );
}

function oneOf<T extends string>(name: string, value: T, allowed: readonly T[]): void {
  if (allowed.includes(value)) return;
  throw new HoldfastError('INVALID_ARGUMENT', `${name} is one of ${allowed.join(', ')}, not ${JSON.stringify(value)}.`);
}
