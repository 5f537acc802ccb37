import assert from 'node:assert/strict';
import { Flow, gracefulComplete, Holdfast, type Logger, Step, type StepContext } from '../../index';

@Step({ name: 'Talk', retry: { initialInterval: 1 } })
class TalkStep {
  execute(_: string, ctx: StepContext) {
    for (const level of ['debug', 'info', 'warn', 'error'] as const) ctx.logger[level]('hello', { level });
    if (ctx.attempt === 1) throw new Error('once');
    return gracefulComplete(ctx.attempt);
  }
}

@Flow({ name: 'Talk' })
class TalkFlow {
  static readonly start = TalkStep;
}

describe('a logger of the user', () => {
  for (const [how, fail] of [
    ['throws', () => assert.fail('no room on the disk')],
    ['rejects', () => Promise.reject(new Error('no room on the disk'))],
  ] as const) {
    it(`[K5] that ${how} hurts no Step that uses it`, async () => {
      let calls = 0;
      const log = () => {
        calls++;
        return fail() as never;
      };
      const logger: Logger = { debug: log, info: log, warn: log, error: log };
      const holdfast = await Holdfast.open({ flows: [TalkFlow], store: 'memory:', logger });
      try {
        await holdfast.client.start(TalkFlow, 't', 'hello');
        assert.equal(await holdfast.client.result(TalkFlow, 't'), 2);
        assert.ok(calls >= 8, `${calls}`);
      } finally {
        await holdfast.close();
      }
    });
  }
});
