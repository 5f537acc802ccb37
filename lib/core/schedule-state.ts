import type { FlowConfig } from '../plan';
import type { Timing } from './calendar';
import type { AttributeWrite } from './event';
import type { Payload } from './payload';
import type { Row } from './table';

/** What is done with a firing while a run of an earlier one is open. */
export type Overlap = 'skip' | 'bufferOne' | 'allow' | 'cancelPrevious';

/** A schedule as its flowId keeps it: what decides when it fires, and what has become of that. */
export interface ScheduleState {
  /** New for each schedule that is made; the same while it is changed. */
  readonly incarnation: string;
  readonly flow: string;
  readonly plan: string;
  readonly timing: Timing;
  readonly overlap: Overlap;
  readonly catchUpMs: number;
  readonly paused: { readonly at: number; readonly reason: string } | null;
  /** When it fires next; null: never again. */
  readonly nextAt: number | null;
  /** Starts asked for so far. */
  readonly asked: number;
  readonly counts: ScheduleCounts;
  /** A firing that waits for the runs before it to close. */
  readonly buffered: Firing | null;
  /** The latest firings, newest first. */
  readonly recent: readonly RecentFiring[];
  readonly createdAt: number;
  readonly changedAt: number;
}

export interface ScheduleCounts {
  readonly started: number;
  /** Left out by the overlap policy. */
  readonly skipped: number;
  /** Left out because they were older than the catch-up window; of each outage the first 1,000 are counted. */
  readonly missed: number;
  /** Their flowId was taken, or their plan turned them down. */
  readonly refused: number;
}

export interface Firing {
  /** Unique in the schedule: its time, and for one made by hand a number. */
  readonly key: string;
  /** The time it stands for. */
  readonly at: number;
}

export interface RecentFiring {
  readonly at: number;
  readonly flowId: string | null;
  readonly what: 'starting' | 'started' | 'closed' | 'refused' | 'skipped' | 'missed';
}

/** What a schedule starts; a row of its own, as an input may be large. */
export interface ScheduleAction extends Row {
  /** Before the time in the flowIds of its runs. */
  readonly flowId: string;
  readonly input: Payload | null;
  readonly terms: StartTerms;
}

/** What a start says beside Flow, plan and input. */
export interface StartTerms {
  readonly attributes: readonly AttributeWrite[];
  readonly timeoutMs?: number | null;
  readonly config: Partial<FlowConfig>;
}

/** A firing whose run is starting or open. */
export interface FiringRow extends Row, Firing {
  readonly flowId: string;
  /** null: its start is not confirmed. */
  readonly runId: string | null;
  readonly stopping: boolean;
}

/** Schedules are kept under flowIds that no Flow can have. */
export const schedulePrefix = '\u0000schedule/';

export function scheduleFlowId(id: string): string {
  return schedulePrefix + id;
}

/** The schedule a flowId stands for, if any. */
export function scheduleIdOf(flowId: string): string | undefined {
  return flowId.startsWith(schedulePrefix) ? flowId.slice(schedulePrefix.length) : undefined;
}

/** The firing by which a run was started, from the key by which it knows its schedule. */
export function firedAt(key: string): number {
  return Number.parseInt(key, 10);
}
