import { ok, strictEqual, throws } from 'node:assert';
import fc from 'fast-check';
import { Timer } from '../../lib/authoring';
import { durationMs, instantMs, maximumDurationMs } from '../../lib/values/duration';

describe('durations', () => {
  it('reads milliseconds and texts', () => {
    const cases: [number | string, number][] = [
      [0, 0],
      [-0, 0],
      [0.4, 1],
      [1500, 1500],
      ['500ms', 500],
      ['30s', 30_000],
      ['15m', 900_000],
      ['24h', 86_400_000],
      ['7d', 604_800_000],
      ['1h30m', 5_400_000],
      [' 1.5 s ', 1_500],
      ['0s', 0],
      [2 ** 31, 2 ** 31],
      ['36500d', maximumDurationMs],
    ];
    for (const [given, ms] of cases) ok(Object.is(durationMs(given, 'x'), ms), String(given));
  });

  it('[W6] [C19] refuses negative, endless and unreadable ones, and names the place', () => {
    const wrong = [-5, -0.1, Number.NaN, Number.POSITIVE_INFINITY, '', 'abc', '5', '-5s', '5 minutes', '1y', '5s x'];
    for (const value of [...wrong, null, undefined, {}, 5n, '36501d', maximumDurationMs + 1]) {
      throws(() => durationMs(value as any, 'ShipStep timeout'), {
        code: 'INVALID_DURATION',
        kind: 'definition',
        where: 'ShipStep timeout',
        message: /^ShipStep timeout: /,
      });
    }
  });

  it('[W6] [C16] [C19] reads points in time, past ones too', () => {
    strictEqual(instantMs(new Date(5), 'x'), 5);
    strictEqual(instantMs(-1, 'x'), -1);
    for (const value of [new Date('no'), Number.NaN, Number.POSITIVE_INFINITY, 'tomorrow', 9e15, undefined]) {
      throws(() => instantMs(value as any, 'Timer.at'), { code: 'INVALID_DURATION', where: 'Timer.at' });
    }
  });

  it('never rounds down, so that nothing is early', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: maximumDurationMs, noNaN: true }), (ms) => {
        const whole = durationMs(ms, 'x');
        ok(Number.isSafeInteger(whole) && whole >= ms && whole - ms <= 1);
      }),
    );
  });

  it('[W6] makes timers of them', () => {
    strictEqual(JSON.stringify(Timer.after('24h', 'reminder')), '{"kind":"timer","id":"reminder","afterMs":86400000}');
    strictEqual(JSON.stringify(Timer.at(new Date(7))), '{"kind":"timer","atMs":7}');
    throws(() => Timer.after(Number.NaN), { code: 'INVALID_DURATION', where: 'Timer.after' });
    throws(() => Timer.after(1, ''), { code: 'DEFINITION' });
  });
});
