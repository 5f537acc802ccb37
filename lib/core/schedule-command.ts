import type { Payload } from './payload';
import type { Overlap, StartTerms } from './schedule-state';

/** Makes a schedule, or changes the one there is (F11). */
export interface RegisterScheduleCommand {
  readonly kind: 'registerSchedule';
  readonly requestId: string;
  readonly digest: string;
  readonly plan: string;
  /** For a new schedule. */
  readonly incarnation: string;
  readonly timing:
    | { readonly kind: 'cron'; readonly pattern: string; readonly timeZone: string }
    | { readonly kind: 'interval'; readonly everyMs: number };
  readonly overlap: Overlap;
  readonly catchUpMs: number;
  /** Before the time in the flowIds of its runs. */
  readonly flowId: string;
  readonly input: Payload | null;
  readonly terms: StartTerms;
}

export interface ChangeScheduleCommand {
  readonly kind: 'changeSchedule';
  readonly requestId: string;
  readonly digest: string;
  readonly change: ScheduleChange;
}

export type ScheduleChange =
  | { readonly kind: 'pause'; readonly reason: string }
  | { readonly kind: 'resume' }
  /** Fires now; undefined: as the schedule's overlap policy says. */
  | { readonly kind: 'trigger'; readonly overlap?: Overlap }
  /** Fires for every time from one instant to another, both included. */
  | { readonly kind: 'backfill'; readonly from: number; readonly to: number; readonly overlap: Overlap }
  | { readonly kind: 'delete' };
