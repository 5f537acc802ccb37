import assert from 'node:assert/strict';
import type { HistoryEvent } from '../../index';
import { type Damage, losesWorker, mayLoseWorker } from './faults';
import type { Told } from './load';
import type { Line } from './outside';

/** Notices from the tokens of attempts when shards are opened anew: each opening has a higher epoch. */
export class Epochs {
  private readonly known = new Map<string, number>();

  /** How many shards have been opened since the histories that were seen before. */
  opened(histories: readonly (readonly HistoryEvent[])[]): number {
    let opened = 0;
    const tokens = histories
      .flat()
      .flatMap(({ kind, fields }) => (kind === 'AttemptStarted' ? [String(fields.token)] : []));
    for (const token of tokens.sort(byEpoch)) {
      const [shard, epoch] = token.split('.') as [string, string];
      const before = this.known.get(shard);
      if (before !== undefined && before < Number(epoch)) opened++;
      if (before === undefined || before < Number(epoch)) this.known.set(shard, Number(epoch));
    }
    return opened;
  }
}

function byEpoch(a: string, b: string): number {
  return Number(a.split('.')[1]) - Number(b.split('.')[1]);
}

/** What a round has shown, added up over all of them. */
export interface Tally {
  bodies: number;
  completed: number;
  lost: number;
  thrown: number;
  lateDiscarded: number;
  begunAgain: number;
  notStarted: number;
  notCompleted: number;
  resumedFromHeartbeat: number;
  messages: number;
  calls: number;
  reopened: number;
}

export const emptyTally = (): Tally => ({
  ...{ bodies: 0, completed: 0, lost: 0, thrown: 0, lateDiscarded: 0, begunAgain: 0, notStarted: 0, notCompleted: 0 },
  ...{ resumedFromHeartbeat: 0, messages: 0, calls: 0, reopened: 0 },
});

/** One call of `execute`: what the history says of it, and what the counters outside do. */
export interface Execution {
  readonly id: string;
  /** Attempt numbers in the order of their starts. */
  readonly started: readonly number[];
  readonly lost: readonly number[];
  readonly completed: boolean;
  readonly begins: readonly Line[];
  readonly ends: readonly Line[];
  readonly throws: readonly Line[];
}

export function executionsOf(told: Told, history: readonly HistoryEvent[], lines: readonly Line[]): Execution[] {
  const scheduled = history
    .filter(({ kind }) => kind === 'StepScheduled')
    .map(({ fields }) => String(fields.execution));
  assert.equal(new Set(scheduled).size, scheduled.length, `${told.flowId}: an execution is scheduled once`);
  return scheduled.map((id) => {
    const own = history.filter(({ fields }) => fields.execution === id && fields.method !== 'waitFor');
    const key = `${told.runId}/${id}/execute`;
    const seen = lines.filter((line) => line.flowId === told.flowId && line.key === key);
    const attempts = (kind: HistoryEvent['kind'], name?: string) =>
      own
        .filter((event) => event.kind === kind && (!name || (event.fields.failure as Error).name === name))
        .map(({ fields }) => Number(fields.attempt));
    const completions = own.filter(({ kind }) => kind === 'ExecuteCompleted');
    assert.ok(completions.length <= 1, `${told.flowId} ${id}: a result is applied once`);
    const starts = own.filter(({ kind }) => kind === 'AttemptStarted');
    if (completions.length === 1) {
      assert.equal(
        completions[0]!.fields.token,
        starts.at(-1)?.fields.token,
        `${told.flowId} ${id}: by its last token`,
      );
    }
    return {
      id,
      started: attempts('AttemptStarted'),
      lost: attempts('AttemptFailed', 'WorkerLost'),
      completed: completions.length === 1,
      begins: seen.filter(({ what }) => what === 'begin'),
      ends: seen.filter(({ what }) => what === 'end'),
      throws: seen.filter(({ what }) => what === 'throw'),
    };
  });
}

/** Attempts: numbered without a hole, begun at most once by their token, burnt by the death of their worker and by nothing else. */
export function checkAttempts(told: Told, execution: Execution, damage: Damage, tally: Tally): void {
  const { id, started, lost, completed, begins, ends, throws } = execution;
  const where = `${told.flowId} ${id} (${damage.fault} after ${Math.round(damage.afterMs)} ms)`;
  const counted = (lines: readonly Line[]) => lines.map(({ attempt }) => attempt);
  const what = `${where}: started ${started}, lost ${lost}, begun ${counted(begins)}, ended ${counted(ends)}`;
  assert.deepEqual(
    started,
    started.map((_, i) => i + 1),
    `attempts are counted from 1. ${what}`,
  );
  assert.ok(lost.length <= (mayLoseWorker(damage) ? 1 : 0), `only a lost worker burns an attempt, and one. ${what}`);
  for (const line of begins) assert.ok(started.includes(line.attempt), `no body without a start. ${what}`);

  // The start of an ASYNC attempt may be lost with its engine: the same attempt runs again.
  const lostStarts = damage.enginesLost + (damage.reopened ?? 0);
  const mayBeginAgain = told.durability === 'ASYNC' && lostStarts > 0;
  const again = begins.length - new Set(counted(begins)).size;
  if (!mayBeginAgain) assert.equal(again, 0, `a token is begun at most once. ${what}`);
  else assert.ok(again <= lostStarts, `begun again only for a lost start. ${what}`);

  // One that a lost worker ran on may throw, too.
  const thrown = new Set(counted(throws).filter((attempt) => !lost.includes(attempt))).size;
  const givenUp = !completed;
  const failures = lost.length + (id.startsWith('Flaky') ? thrown : 0);
  assert.equal(
    failures,
    givenUp ? started.length : started.length - 1,
    `each attempt but the last has failed. ${what}`,
  );
  if (completed) {
    const last = started.at(-1)!;
    assert.ok(counted(ends).includes(last), `the attempt that completed did run to its end. ${what}`);
  }
  for (const attempt of lost) {
    const pids = begins.filter((line) => line.attempt === attempt).map(({ pid }) => pid);
    if (!mayBeginAgain)
      assert.ok(
        pids.every((pid) => pid === damage.victim),
        `the worker of a lost attempt is the lost one. ${what}`,
      );
  }
  if (!mayBeginAgain) checkVictim(execution, damage, what, tally);
  tally.bodies += begins.length;
  tally.completed += Number(completed);
  tally.lost += lost.length;
  tally.thrown += thrown;
  tally.begunAgain += again;
}

/** A body that its worker's death or long silence has cut off costs exactly its attempt; one that came late counts for nothing. */
function checkVictim(
  { begins, ends, throws, lost, completed, started }: Execution,
  damage: Damage,
  what: string,
  tally: Tally,
) {
  for (const begin of begins.filter(({ pid }) => pid === damage.victim)) {
    const over = [...ends, ...throws].find(({ pid, attempt }) => pid === begin.pid && attempt === begin.attempt);
    if (!over) assert.ok(damage.killed, `only a killed worker leaves a body without an end. ${what}`);
    const { stoppedAt, resumedAt } = damage;
    const late =
      losesWorker(damage) &&
      stoppedAt !== undefined &&
      begin.at < stoppedAt &&
      over !== undefined &&
      over.at >= resumedAt!;
    if (over && !late) continue;
    // A new owner of the shard gives what runs a whole heartbeat again.
    if (late && damage.reopened) continue;
    assert.ok(lost.includes(begin.attempt), `the attempt of a body that was cut off is lost. ${what}`);
    if (!late) continue;
    assert.ok(!completed || started.at(-1)! > begin.attempt, `what came late has no effect. ${what}`);
    tally.lateDiscarded++;
  }
}
