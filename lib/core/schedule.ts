import { HoldfastError } from '../errors';
import { calendarOf, type Timing } from './calendar';
import { checkAttribute } from './declared';
import { fire } from './firing';
import { limits } from './limits';
import type { ChangeScheduleCommand, RegisterScheduleCommand, ScheduleChange } from './schedule-command';
import { type ScheduleState, scheduleIdOf } from './schedule-state';
import { checkBytes } from './staged';
import type { Turn } from './turn';

/** Firings that one turn makes; those that are left follow at once in turns of their own. */
const firingsPerTurn = 100;
/** Missed firings that are counted one by one. */
const missedCounted = 1_000;

/** Makes a schedule, or changes the one there is: what is left as it was goes on as if nothing had been said (F11). */
export function registerSchedule(turn: Turn, command: RegisterScheduleCommand): void {
  checkAction(turn, command);
  const { flow, plan, now } = turn;
  const before = flow.head.schedule;
  const same = before && isSame(before.timing, command.timing);
  const timing: Timing = same ? before.timing : anchored(command.timing, now);
  const next = calendarOf(timing).next(now);
  const { overlap, catchUpMs } = command;
  const kept = before ?? {
    incarnation: command.incarnation,
    paused: null,
    asked: 0,
    counts: { started: 0, skipped: 0, missed: 0, refused: 0 },
    buffered: null,
    recent: [],
    createdAt: now,
  };
  flow.setSchedule({
    ...kept,
    ...{ flow: plan.name, plan: plan.fingerprint, timing, overlap, catchUpMs, changedAt: now },
    // What is due and not yet done, as after an outage, is not forgotten by who registers the same again.
    nextAt: same && before.paused === null ? before.nextAt : next,
  });
  flow.setAction(command.flowId, command.input, command.terms);
  answer(turn, command, { created: before === undefined, nextAt: flow.head.schedule!.nextAt });
}

export function changeSchedule(turn: Turn, command: ChangeScheduleCommand): void {
  const schedule = turn.flow.head.schedule;
  if (!schedule) {
    const id = scheduleIdOf(turn.flow.head.flowId);
    throw new HoldfastError('SCHEDULE_NOT_FOUND', `There is no schedule ${JSON.stringify(id)}.`, { where: id! });
  }
  answer(turn, command, change(turn, schedule, command.change));
}

function change(turn: Turn, schedule: ScheduleState, asked: ScheduleChange): unknown {
  const { flow, now } = turn;
  switch (asked.kind) {
    case 'pause':
      // One that is paused already keeps its time and gets the new reason.
      flow.setSchedule({
        ...schedule,
        paused: { at: schedule.paused?.at ?? now, reason: asked.reason },
        buffered: null,
      });
      return null;
    case 'resume':
      if (schedule.paused) {
        flow.setSchedule({ ...schedule, paused: null, nextAt: calendarOf(schedule.timing).next(now) });
      }
      return { nextAt: flow.head.schedule!.nextAt };
    case 'trigger': {
      const key = `${now}~${schedule.asked + 1}`;
      return { flowId: fire(turn, { key, at: now }, asked.overlap ?? schedule.overlap) };
    }
    case 'backfill':
      return backfill(turn, schedule, asked);
    case 'delete':
      flow.dropSchedule();
      return null;
  }
}

function backfill(
  turn: Turn,
  schedule: ScheduleState,
  { from, to, overlap }: ScheduleChange & { kind: 'backfill' },
): { readonly fired: number } {
  const calendar = calendarOf(schedule.timing);
  const times: number[] = [];
  for (let at = calendar.next(from - 1); at !== null && at <= to; at = calendar.next(at)) {
    times.push(at);
    if (times.length <= limits.backfill) continue;
    throw new HoldfastError('LIMIT_EXCEEDED', `A backfill has at most ${limits.backfill} firings.`, {
      where: scheduleIdOf(turn.flow.head.flowId)!,
      fix: 'Backfill a shorter stretch, then the next.',
    });
  }
  for (const at of times) fire(turn, { key: `${at}`, at }, overlap);
  return { fired: times.length };
}

/** Fires for what has become due, oldest first; what is older than the catch-up window is passed over (F11). */
export function fireDue(turn: Turn): void {
  const { flow, now } = turn;
  const schedule = flow.head.schedule;
  if (!schedule || schedule.paused || schedule.nextAt === null || schedule.nextAt > now) return;
  const calendar = calendarOf(schedule.timing);
  let at: number | null = schedule.nextAt;
  const oldest = now - schedule.catchUpMs;
  if (at < oldest) {
    const first = at;
    let missed = 0;
    while (at !== null && at < oldest && missed < missedCounted) {
      missed++;
      at = calendar.next(at);
    }
    if (at !== null && at < oldest) at = calendar.next(oldest - 1);
    flow.noteFiring({ at: first, flowId: null, what: 'missed' }, { missed });
  }
  for (let fired = 0; at !== null && at <= now && fired < firingsPerTurn; fired++) {
    fire(turn, { key: `${at}`, at }, schedule.overlap);
    at = calendar.next(at);
  }
  flow.setSchedule({ ...flow.head.schedule!, nextAt: at });
}

function checkAction({ plan }: Turn, { input, terms }: RegisterScheduleCommand): void {
  if (plan.start === null && input !== null) {
    throw new HoldfastError('INVALID_ARGUMENT', `The Flow ${plan.name} has no start Step and takes no input.`);
  }
  for (const [address] of terms.attributes) checkAttribute(plan, address);
  checkBytes([input, ...terms.attributes.map(([, value]) => value)], 'The start');
}

function isSame(timing: Timing, asked: RegisterScheduleCommand['timing']): boolean {
  if (timing.kind === 'cron' && asked.kind === 'cron') {
    return timing.pattern === asked.pattern && timing.timeZone === asked.timeZone;
  }
  return timing.kind === 'interval' && asked.kind === 'interval' && timing.everyMs === asked.everyMs;
}

function anchored(timing: RegisterScheduleCommand['timing'], now: number): Timing {
  return timing.kind === 'cron' ? timing : { ...timing, anchorAt: now };
}

function answer(turn: Turn, { requestId, digest }: { requestId: string; digest: string }, value: unknown): void {
  turn.flow.remember(requestId, digest, value, turn.now);
  turn.answer(value);
}
