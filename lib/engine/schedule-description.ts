import {
  type FlowHead,
  type FlowState,
  type Overlap,
  type RecentFiring,
  type ScheduleCounts,
  type ScheduleState,
  scheduleIdOf,
  schedulePrefix,
  type Timing,
} from '../core';
import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import { headOf } from '../store/document';
import { keys } from '../store/keys';

/** What `schedules.list` tells of a schedule. */
export interface ScheduleSummary {
  readonly id: string;
  /** Name of the Flow it starts. */
  readonly flow: string;
  readonly timing: Timing;
  readonly overlap: Overlap;
  readonly catchUpMs: number;
  readonly paused: { readonly at: number; readonly reason: string } | null;
  /** When it fires next; null while it is paused. */
  readonly nextAt: number | null;
  readonly counts: ScheduleCounts;
  /** The latest firings, newest first, at most ten. */
  readonly recent: readonly RecentFiring[];
  /** The time of a firing that waits for the runs before it to close. */
  readonly bufferedAt: number | null;
  readonly createdAt: number;
  readonly changedAt: number;
}

/** What `schedules.describe` tells. */
export interface ScheduleDescription extends ScheduleSummary {
  /** Runs that are starting or open, oldest first, at most 1,000. */
  readonly running: readonly { readonly at: number; readonly flowId: string; readonly runId: string | null }[];
}

const describedRuns = 1_000;

/** Throws `SCHEDULE_NOT_FOUND`. */
export function readSchedule(flowId: string, flow: FlowState | undefined): ScheduleDescription {
  const schedule = flow?.head.schedule;
  const id = scheduleIdOf(flowId)!;
  if (!flow || !schedule) {
    throw new HoldfastError('SCHEDULE_NOT_FOUND', `There is no schedule ${JSON.stringify(id)}.`, { where: id });
  }
  // As rows they come in the order in which they last changed.
  const running = [...flow.firings.values()].sort((a, b) => a.at - b.at).slice(0, describedRuns);
  return { ...summaryOf(id, schedule), running: running.map(({ at, flowId, runId }) => ({ at, flowId, runId })) };
}

/** Stored schedules of a shard, by id, from after one on. */
export async function readSchedules(
  store: ShardStore,
  after: string | null,
  limit: number,
): Promise<{ schedules: ScheduleSummary[]; next: string | null }> {
  const schedules: ScheduleSummary[] = [];
  let last: string | null = null;
  for await (const [, bytes] of store.scan(keys.flowsAfter(schedulePrefix, after))) {
    if (schedules.length === limit) return { schedules, next: last };
    const { flowId, schedule } = headOf<FlowHead>(bytes);
    last = flowId;
    if (schedule) schedules.push(summaryOf(scheduleIdOf(flowId)!, schedule));
  }
  return { schedules, next: null };
}

function summaryOf(id: string, schedule: ScheduleState): ScheduleSummary {
  const { flow, timing, overlap, catchUpMs, paused, nextAt, counts, recent, buffered, createdAt, changedAt } = schedule;
  return {
    ...{ id, flow, timing, overlap, catchUpMs, paused, counts, recent, createdAt, changedAt },
    nextAt: paused ? null : nextAt,
    bufferedAt: buffered?.at ?? null,
  };
}
