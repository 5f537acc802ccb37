import assert from 'node:assert/strict';
import {
  Channel,
  DurableChannel,
  Flow,
  gracefulComplete,
  HoldfastError,
  retryAfter,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { compile } from '../../lib/compiler';
import { TestEnvironment } from '../../lib/testing';
import { eventually } from '../support/eventually';
import { eventsOf, failureOf, stepStates } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const log = new Log<number>();
const day = 86_400_000;

@Channel()
class Never extends DurableChannel<string> {}

@Step({ name: 'Sleep' })
class SleepStep {
  waitFor(ms: number) {
    return until(Timer.after(ms));
  }
  execute(ms: number) {
    return gracefulComplete(ms);
  }
}

@Flow()
class SleepFlow {
  static readonly start = SleepStep;
}

@Step({ name: 'Endless' })
class EndlessStep {
  constructor(private readonly never: Never) {}
  waitFor() {
    return until(this.never.take(1));
  }
  execute() {
    return gracefulComplete();
  }
}

@Flow({ timeout: '90d' })
class EndlessFlow {
  static readonly start = EndlessStep;
}

@Step({ name: 'Monthly', retry: { initialInterval: '30d', maximumInterval: '30d', totalDuration: null } })
class MonthlyStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, ctx.attempt);
    if (ctx.attempt === 1) throw new Error('not this month');
    return gracefulComplete();
  }
}

@Flow()
class MonthlyFlow {
  static readonly start = MonthlyStep;
}

/** A wait whose duration is worked out anew whenever `waitFor` runs, as careless code does. */
@Step({ name: 'Deadline', retry: { initialInterval: 1 } })
class DeadlineStep {
  waitFor({ begun, ms }: { begun: number | null; ms: number }, ctx: StepContext) {
    log.add(ctx.flowId, 0);
    return until(Timer.after(begun === null ? ms : Math.max(0, begun + ms - now())));
  }
  execute(_input: { begun: number | null; ms: number }) {
    return gracefulComplete();
  }
}

@Flow()
class DeadlineFlow {
  static readonly start = DeadlineStep;
}

let now: () => number = Date.now;

/** Durations as they come in from untyped code. */
const given = new Map<string, unknown>();

@Step({ name: 'Odd' })
class OddStep {
  waitFor(_input: string, ctx: StepContext) {
    log.add(ctx.flowId, ctx.attempt);
    const value = given.get(ctx.flowId);
    return until(value instanceof Date ? Timer.at(value) : Timer.after(value as number));
  }
  execute(_input: string) {
    return gracefulComplete('at once');
  }
}

@Flow()
class OddFlow {
  static readonly start = OddStep;
}

@Step({ name: 'OddRetry', retry: { maximumAttempts: 2 } })
class OddRetryStep {
  execute(_input: string, ctx: StepContext) {
    log.add(ctx.flowId, ctx.attempt);
    if (ctx.attempt === 1) throw retryAfter(given.get(ctx.flowId) as number, new Error('later'));
    return gracefulComplete('at once');
  }
}

@Flow()
class OddRetryFlow {
  static readonly start = OddRetryStep;
}

describe('Timers and durations', () => {
  let env: TestEnvironment;
  beforeEach(async () => {
    const flows = [SleepFlow, EndlessFlow, MonthlyFlow, OddFlow, OddRetryFlow];
    env = await TestEnvironment.open({ flows, startAt: Date.UTC(2030, 0, 1) });
  });
  afterEach(() => env.close());

  it('[C16] waits beyond 2^31 ms fire when they are due on every path, and not before', async () => {
    const sleeps = [25 * day, 2 ** 31, 60 * day, 2 ** 32 + 5_000];
    const retention = '365d';
    const start = env.now.getTime();
    for (const ms of sleeps) await env.client.start(SleepFlow, `sleep ${ms}`, ms, { retention });
    await env.client.start(EndlessFlow, 'endless', undefined, { retention });
    await env.client.start(MonthlyFlow, 'monthly');
    await env.client.start(SleepFlow, 'delayed', 0, { startDelay: '40d' });
    const writes = env.writes;
    await env.advance('10s');
    // Nothing fires, and nothing is done meanwhile.
    assert.equal(env.writes, writes);
    const due: number[] = [];
    for (let at = await env.nextTimer(); at; at = await env.nextTimer()) due.push(at.getTime() - start);
    const expected = [25 * day, 2 ** 31, 30 * day, 40 * day, 2 ** 32 + 5_000, 60 * day, 90 * day];
    assert.deepEqual(
      due,
      expected.sort((a, b) => a - b),
    );
    for (const ms of sleeps) {
      const [satisfied] = await eventsOf(env.client, `sleep ${ms}`, 'WaitSatisfied');
      assert.equal(satisfied!.at.getTime() - start, ms);
    }
    assert.deepEqual(log.of('monthly'), [1, 2]);
    const { status, failKind, closedAt } = await env.client.describe('endless');
    assert.deepEqual([status, failKind, closedAt! - start], ['failed', 'timeout', 90 * day]);
  });

  for (const value of [0, 0.4, new Date(0), new Date(-1)]) {
    it(`[C19] ${value instanceof Date ? value.toISOString() : value} means now`, async () => {
      const flowId = fresh('odd');
      given.set(flowId, value);
      await env.client.start(OddFlow, flowId, '');
      await env.advance(1);
      assert.equal(await env.client.result(OddFlow, flowId), 'at once');
    });
  }

  for (const value of [-5, Number.NaN, Number.POSITIVE_INFINITY, 'abc', '-1s', '', new Date(Number.NaN), null, {}]) {
    const name = value instanceof Date ? 'an invalid Date' : typeof value === 'number' ? value : JSON.stringify(value);
    it(`[C19] ${name} fails the Step once, with its name, and fires nothing`, async () => {
      for (const [flow, step] of [
        [OddFlow, 'Odd-1'],
        [OddRetryFlow, 'OddRetry-1'],
      ] as const) {
        if (flow === OddRetryFlow && value instanceof Date) continue;
        const flowId = fresh('odd');
        given.set(flowId, value);
        await env.client.start(flow as typeof OddFlow, flowId, '');
        await env.advance('1h');
        const error = await failureOf(env.client, flow, flowId);
        const cause = error.cause as HoldfastError;
        assert.deepEqual(
          [error.failKind, cause.name, cause.code],
          ['definition', 'InvalidDurationError', 'INVALID_DURATION'],
        );
        assert.deepEqual(log.of(flowId), [1]);
        const [failed] = await eventsOf(env.client, flowId, 'StepFailed');
        assert.equal(failed!.fields.execution, step);
      }
    });
  }

  for (const value of [-5, Number.NaN, Number.POSITIVE_INFINITY, 'abc']) {
    it(`[C19] ${value} as an option of a Flow or Step is refused before anything runs`, async () => {
      @Step({ retry: { initialInterval: value }, heartbeatTimeout: value, timeout: value })
      class BadStep {
        execute() {
          return gracefulComplete();
        }
      }
      @Flow({ timeout: value })
      class BadFlow {
        static readonly start = BadStep;
      }
      let findings: readonly { where: string }[] = [];
      try {
        compile([BadFlow]);
      } catch (error) {
        findings = (error as { findings: typeof findings }).findings;
      }
      assert.equal(findings.length, 4, JSON.stringify(findings));
      assert.ok(findings.some(({ where }) => where.includes('BadFlow')));
      assert.ok(findings.some(({ where }) => where.includes('BadStep')));
      for (const options of [{ timeout: value }, { startDelay: value }, { retention: value }]) {
        const call = env.client.start(SleepFlow, fresh('bad'), 0, options);
        await assert.rejects(call, { code: 'INVALID_DURATION' });
      }
      assert.throws(() => to(SleepStep, 0).with({ timeout: value }) && Timer.after(value), {
        code: 'INVALID_DURATION',
      });
    });
  }
});

describeOnEveryStore('Timers and durations over restarts', (stack) => {
  it('[C17] a timer that expires while everything is down fires promptly and once after the restart', async () => {
    const system = await stack.open({ flows: [SleepFlow] });
    const flowIds = Array.from({ length: 20 }, () => fresh('sleep'));
    for (const flowId of flowIds) await system.client.start(SleepFlow, flowId, day);
    await eventually(async () => {
      for (const flowId of flowIds) assert.deepEqual(await stepStates(system.client, flowId), { 'Sleep-1': 'waiting' });
    });
    // A process that runs nothing stands for one that is down: what is due is there for the next one.
    await system.crash({ slots: 0 });
    system.clock.move(3 * day);
    await system.crash({ slots: 10 });
    for (const flowId of flowIds) {
      assert.equal(await system.client.result(SleepFlow, flowId, { deadline: '15s' }), day);
      assert.equal((await eventsOf(system.client, flowId, 'WaitSatisfied')).length, 1);
      assert.equal((await eventsOf(system.client, flowId, 'WaitForCompleted')).length, 1);
    }
  });

  it('[C21] crashes neither extend nor restart a deadline, however its duration was worked out', async () => {
    const system = await stack.open({ flows: [DeadlineFlow] });
    now = () => system.clock.now();
    const ms = 10 * 60_000;
    const flowIds = [fresh('deadline'), fresh('deadline')];
    const begun = system.clock.now();
    await system.client.start(DeadlineFlow, flowIds[0]!, { begun: null, ms });
    await system.client.start(DeadlineFlow, flowIds[1]!, { begun, ms });
    const dueAt = async (flowId: string) => (await system.client.describe(flowId)).steps[0]?.dueAt;
    await eventually(async () => {
      for (const flowId of flowIds)
        assert.deepEqual(await stepStates(system.client, flowId), { 'Deadline-1': 'waiting' });
    });
    const first = [await dueAt(flowIds[0]!), await dueAt(flowIds[1]!)];
    for (const minutes of [3, 3, 3]) {
      system.clock.move(minutes * 60_000);
      await system.crash();
      assert.deepEqual([await dueAt(flowIds[0]!), await dueAt(flowIds[1]!)], first);
    }
    await system.advance(61_000);
    for (const [i, flowId] of flowIds.entries()) {
      await system.client.result(DeadlineFlow, flowId, { deadline: '15s' });
      const [satisfied] = await eventsOf(system.client, flowId, 'WaitSatisfied');
      assert.ok(satisfied!.at.getTime() >= first[i]!);
      assert.deepEqual(log.of(flowId), [0]);
    }
  });
});
