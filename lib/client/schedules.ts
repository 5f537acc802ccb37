import type { FlowClass } from '../authoring';
import { type Overlap, type ScheduleChange, scheduleFlowId } from '../core';
import type { ScheduleDescription, ScheduleSummary } from '../engine';
import { checkId } from '../values';
import { instantMs } from '../values/duration';
import type { Requests } from './requests';
import { checkOverlap, lowerSchedule, type ScheduleDefinition } from './schedule-definition';
import type { CallOptions, RequestOptions } from './settings';

/** Read from a shard at a time. */
const schedulesPerPage = 500;

/**
 * Schedules start Flows by a cron pattern or an interval, each firing exactly once (F11). They are kept by the engine and
 * need no process of yours to fire. Calls that name an unknown schedule throw `SCHEDULE_NOT_FOUND`.
 */
export class Schedules {
  constructor(private readonly requests: Requests) {}

  /**
   * Makes a schedule, or changes the one of that id: whoever registers the same twice changes nothing, and a firing that is
   * due stays due. Gives whether it is new and when it fires next, in milliseconds since the epoch. Throws
   * `INVALID_ARGUMENT`, `INVALID_DURATION`, `INVALID_ID`, `VALUE_NOT_STORABLE`.
   */
  async register<F extends FlowClass>(
    id: string,
    definition: ScheduleDefinition<F>,
    options: RequestOptions = {},
  ): Promise<{ readonly created: boolean; readonly nextAt: number | null }> {
    const { requestId, ...call } = options;
    const flowId = flowIdOf(id);
    const lowered = lowerSchedule(this.requests, id, definition);
    const identity = this.requests.identity(requestId, ['registerSchedule', lowered]);
    const command = { ...lowered, ...identity, incarnation: this.requests.newRunId() };
    return (await this.requests.sendTo(flowId, command, call)) as { created: boolean; nextAt: number | null };
  }

  /** It does not fire until it is resumed; what falls into that time is not made up for. Runs that are open go on. */
  async pause(id: string, reason = '', options: RequestOptions = {}): Promise<void> {
    await this.change(id, { kind: 'pause', reason }, options);
  }

  /** It fires again, from the next time on. */
  async resume(id: string, options: RequestOptions = {}): Promise<{ readonly nextAt: number | null }> {
    return (await this.change(id, { kind: 'resume' }, options)) as { nextAt: number | null };
  }

  /**
   * Fires now, also while it is paused. Gives the flowId of the run, null where the overlap policy [the schedule's] starts
   * none now.
   */
  async trigger(
    id: string,
    { overlap, ...options }: RequestOptions & { readonly overlap?: Overlap } = {},
  ): Promise<{ readonly flowId: string | null }> {
    const change = { kind: 'trigger', ...(overlap && { overlap: checkOverlap(overlap) }) } as const;
    return (await this.change(id, change, options)) as { flowId: string | null };
  }

  /**
   * Fires for every time from one instant to another, both included; for one that has fired already nothing is started while
   * its run is kept. `overlap` [allow]. Gives how many times there were. Throws `LIMIT_EXCEEDED` above 1,000.
   */
  async backfill(
    id: string,
    { from, to, overlap = 'allow' }: { from: Date | number; to: Date | number; overlap?: Overlap },
    options: RequestOptions = {},
  ): Promise<{ readonly fired: number }> {
    const range = { from: instantMs(from, 'from'), to: instantMs(to, 'to') };
    const change = { kind: 'backfill', ...range, overlap: checkOverlap(overlap) } as const;
    return (await this.change(id, change, options)) as { fired: number };
  }

  /** When it fires next, what has become of the latest firings, and which of its runs are open. */
  async describe(id: string, options: CallOptions = {}): Promise<ScheduleDescription> {
    return (await this.requests.readFrom(flowIdOf(id), { kind: 'schedule' }, options)) as ScheduleDescription;
  }

  /** All schedules of the namespace, by id. */
  async list(options: CallOptions = {}): Promise<ScheduleSummary[]> {
    const shards = Array.from({ length: this.requests.shards }, (_, shard) => this.listOf(shard, options));
    return (await Promise.all(shards)).flat().sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Ends it. Runs that it has started go on; one that waits for them does not start. */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await this.change(id, { kind: 'delete' }, options);
  }

  private async listOf(shard: number, options: CallOptions): Promise<ScheduleSummary[]> {
    const found: ScheduleSummary[] = [];
    for (let after: string | null = null; ; ) {
      const what = { kind: 'schedules', after, limit: schedulesPerPage } as const;
      const page = (await this.requests.readShard(shard, what, options)) as {
        schedules: ScheduleSummary[];
        next: string | null;
      };
      found.push(...page.schedules);
      if (page.next === null) return found;
      after = page.next;
    }
  }

  private change(id: string, change: ScheduleChange, { requestId, ...call }: RequestOptions): Promise<unknown> {
    const identity = this.requests.identity(requestId, ['changeSchedule', change]);
    return this.requests.sendTo(flowIdOf(id), { kind: 'changeSchedule', ...identity, change }, call);
  }
}

function flowIdOf(id: string): string {
  return scheduleFlowId(checkId(id, 'schedule id'));
}
