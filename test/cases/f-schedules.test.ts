import assert from 'node:assert/strict';
import { Channel, DurableChannel, Flow, gracefulComplete, Step, type StepContext, until } from '../../index';
import { calendarOf } from '../../lib/core';
import { TestEnvironment } from '../../lib/testing';
import { fresh, Log } from '../support/observers';

const newYork = 'America/New_York';
const fired = new Log();

@Step({ name: 'Note' })
class NoteStep {
  execute(name: string, ctx: StepContext) {
    fired.add(name, ctx.schedule!.at.toISOString());
    return gracefulComplete();
  }
}

@Flow({ name: 'Noted' })
class NotedFlow {
  static readonly start = NoteStep;
}

@Channel()
class Ends extends DurableChannel<string> {}

@Step({ name: 'Stay' })
class StayStep {
  constructor(private readonly ends: Ends) {}

  waitFor() {
    return until(this.ends.take(1));
  }

  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'Staying' })
class StayFlow {
  static readonly start = StayStep;
}

/** All times of a pattern between two instants. */
function timesOf(pattern: string, from: string, to: string, timeZone = newYork): string[] {
  const calendar = calendarOf({ kind: 'cron', pattern, timeZone });
  const times: string[] = [];
  for (let at = calendar.next(Date.parse(from)); at !== null && at <= Date.parse(to); at = calendar.next(at)) {
    assert.equal(calendar.next(at - 1), at, 'the same time from right before it');
    times.push(new Date(at).toISOString().slice(5, 16).replace('T', ' '));
  }
  return times;
}

describe('schedules: days on which the clock is changed', () => {
  it('[C22] a time outside the hour of the change fires once a day, in both switch weeks', () => {
    const mondays = timesOf('0 6 * * MON', '2026-10-25T00:00Z', '2026-11-12T00:00Z');
    assert.deepEqual(mondays, ['10-26 10:00', '11-02 11:00', '11-09 11:00']);
    const spring = timesOf('0 6 * * MON', '2027-03-07T00:00Z', '2027-03-24T00:00Z');
    assert.deepEqual(spring, ['03-08 11:00', '03-15 10:00', '03-22 10:00']);
  });

  it('[C22] [F11] a time that the clock leaps over fires once, where the leap ends', () => {
    const day = ['2027-03-13T12:00Z', '2027-03-15T12:00Z'] as const;
    assert.deepEqual(timesOf('30 2 * * *', ...day), ['03-14 07:00', '03-15 06:30']);
    assert.deepEqual(timesOf('*/15 2 * * *', '2027-03-14T00:00Z', '2027-03-14T20:00Z'), ['03-14 07:00']);
    const evenHours = timesOf('0 */2 * * *', '2027-03-14T04:00Z', '2027-03-14T10:30Z');
    assert.deepEqual(evenHours, ['03-14 05:00', '03-14 07:00', '03-14 08:00', '03-14 10:00']);
    // Two in one: 02:00 is where 03:00 is.
    const both = timesOf('0 2,3 * * *', '2027-03-14T00:00Z', '2027-03-14T20:00Z');
    assert.deepEqual(both, ['03-14 07:00']);
    const midnight = timesOf('0 0 * * *', '2026-09-05T00:00Z', '2026-09-07T12:00Z', 'America/Santiago');
    assert.deepEqual(midnight, ['09-05 04:00', '09-06 04:00', '09-07 03:00']);
    const wholeDay = timesOf('0 12 * * *', '2011-12-29T00:00Z', '2012-01-01T00:00Z', 'Pacific/Apia');
    assert.deepEqual(wholeDay, ['12-29 22:00', '12-30 10:00', '12-30 22:00', '12-31 22:00']);
  });

  it('[C22] [F11] a time that the clock shows twice fires the first time', () => {
    const days = ['2026-10-31T12:00Z', '2026-11-02T12:00Z'] as const;
    assert.deepEqual(timesOf('30 1 * * *', ...days), ['11-01 05:30', '11-02 06:30']);
    const quarters = timesOf('*/15 1 * * *', '2026-11-01T00:00Z', '2026-11-01T20:00Z');
    assert.deepEqual(quarters, ['11-01 05:00', '11-01 05:15', '11-01 05:30', '11-01 05:45']);
    const inside = timesOf('30 1 * * *', '2026-11-01T06:10Z', '2026-11-02T12:00Z');
    assert.deepEqual(inside, ['11-02 06:30']);
    const halfAnHour = timesOf('45 1 * * *', '2027-04-03T00:00Z', '2027-04-04T23:00Z', 'Australia/Lord_Howe');
    assert.deepEqual(halfAnHour, ['04-03 14:45', '04-04 15:15']);
    const seconds = timesOf('*/30 59 1 * * *', '2026-11-01T00:00Z', '2026-11-01T20:00Z');
    assert.deepEqual(seconds, ['11-01 05:59', '11-01 05:59']);
  });

  it('[C22] a pattern for every hour keeps to real time', () => {
    const autumn = timesOf('*/15 * * * *', '2026-11-01T05:00Z', '2026-11-01T07:00Z');
    const minutes = ['15', '30', '45', '00'];
    assert.deepEqual(
      autumn,
      [...minutes, ...minutes].map((minute, i) => `11-01 0${5 + Math.floor((i + 1) / 4)}:${minute}`),
    );
    const spring = timesOf('*/15 * * * *', '2027-03-14T06:00Z', '2027-03-14T08:00Z');
    assert.deepEqual(
      spring,
      [...minutes, ...minutes].map((minute, i) => `03-14 0${6 + Math.floor((i + 1) / 4)}:${minute}`),
    );
    assert.deepEqual(timesOf('5 * * * *', '2027-03-14T06:00Z', '2027-03-14T08:30Z'), [
      '03-14 06:05',
      '03-14 07:05',
      '03-14 08:05',
    ]);
  });

  it('[F11] agrees with the wall clock on every other day', () => {
    for (const timeZone of [newYork, 'Europe/Berlin', 'Asia/Kolkata', 'Australia/Lord_Howe', 'UTC']) {
      const calendar = calendarOf({ kind: 'cron', pattern: '20 4 * * *', timeZone });
      let at = Date.parse('2026-01-01T00:00Z');
      for (let day = 0; day < 365; day++) {
        const next: number = calendar.next(at)!;
        assert.equal(new Date(next).toLocaleTimeString('en-GB', { timeZone }), '04:20:00');
        if (day > 0) assert.ok(next - at >= 23 * 3_600_000 && next - at <= 25 * 3_600_000);
        at = next;
      }
    }
  });

  for (const [when, startAt, want] of [
    ['autumn', '2026-11-01T03:00:00Z', { half: ['05:30'], quarters: 16 }],
    ['spring', '2027-03-14T04:00:00Z', { half: ['06:30'], quarters: 16 }],
  ] as const) {
    it(`[C22] in the switch hour of ${when}, with a crash in it, each fires once`, async () => {
      const env = await TestEnvironment.open({ flows: [NotedFlow], startAt: new Date(startAt) });
      try {
        const [half, quarters] = [fresh('half'), fresh('quarters')];
        const { schedules } = env.client;
        await schedules.register(half, { cron: '30 1 * * *', timeZone: newYork, flow: NotedFlow, input: half });
        const quarterly = { cron: '*/15 * * * *', timeZone: newYork, flow: NotedFlow, input: quarters };
        await schedules.register(quarters, quarterly);
        for (let i = 0; i < 4; i++) {
          await env.advance('1h');
          await env.crash();
        }
        assert.deepEqual(
          fired.of(half).map((at) => at.slice(11, 16)),
          want.half,
        );
        const times = fired.of(quarters).map((at) => Date.parse(at));
        const every = Array.from({ length: want.quarters }, (_, i) => Date.parse(startAt) + (i + 1) * 900_000);
        assert.deepEqual(times, every);
      } finally {
        await env.close();
      }
    });
  }
});

describe('schedules: a crash at every write', () => {
  for (const overlap of ['allow', 'bufferOne', 'cancelPrevious'] as const) {
    it(`[F11] [P6] each firing starts once, whatever write is lost or unheard of (${overlap})`, async () => {
      for (const when of ['crashBeforeWrite', 'crashAfterWrite'] as const) {
        let crashed = 0;
        for (let n = 1; ; n++) {
          const env = await TestEnvironment.open({ flows: [StayFlow], startAt: Date.UTC(2027, 0, 1) });
          try {
            env[when](n);
            await scenario(env, overlap);
            if (env.crashes === 0) break;
          } finally {
            await env.close();
          }
          crashed++;
        }
        assert.ok(crashed >= 10, `${when}: ${crashed}`);
      }
    });
  }

  /** Three firings, the end of one run, and one more firing. */
  async function scenario(env: TestEnvironment, overlap: 'allow' | 'bufferOne' | 'cancelPrevious'): Promise<void> {
    const { schedules } = env.client;
    await schedules.register('s', { every: '10m', flow: StayFlow, overlap });
    await env.advance('35m');
    const runs = ['00:10', '00:20', '00:30'].map((at) => `s/2027-01-01T${at}:00.000Z`);
    const open = { allow: runs[0]!, bufferOne: runs[0]!, cancelPrevious: runs[2]! }[overlap];
    await env.client.publish(StayFlow, open, Ends, 'end');
    await env.advance('1m');
    const { counts, running } = await schedules.describe('s');
    const started = { allow: 3, bufferOne: 2, cancelPrevious: 3 }[overlap];
    assert.equal(counts.started, started);
    assert.equal(counts.refused, 0);
    const left = { allow: runs.slice(1), bufferOne: [runs[1]], cancelPrevious: [] }[overlap];
    assert.deepEqual(
      running.map(({ flowId }) => flowId),
      left,
    );
    for (const [i, flowId] of runs.entries()) {
      if (overlap === 'bufferOne' && i === 2) continue;
      const starts = (await env.client.history(flowId)).filter(({ kind }) => kind === 'FlowStarted');
      assert.equal(starts.length, 1, flowId);
      assert.equal((await env.client.describe(flowId)).previousRunId, null);
    }
    await schedules.delete('s');
    await env.advance('20m');
  }
});
