import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  CompileError,
  compile,
  deadEnd,
  Flow,
  goTo,
  gracefulComplete,
  type Recovery,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { backoffMs } from '../../lib/core/policy';
import { TestEnvironment } from '../../lib/testing';
import { eventually } from '../support/eventually';
import { eventsOf, failureOf } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const attempts = new Log<number>();
const gate = new Gate();
const recovered = new Map<string, Recovery>();
const proceeded = new Map<string, string | undefined>();
const day = 86_400_000;

@Step({ name: 'Five', retry: { maximumAttempts: 5, initialInterval: 1 } })
class FiveStep {
  async execute(mode: string, ctx: StepContext) {
    attempts.add(ctx.flowId, ctx.attempt);
    if (mode === 'crash' && ctx.attempt <= 2) await gate.pass(`${ctx.flowId} ${ctx.attempt}`);
    if (mode === 'throw') throw new Error(`attempt ${ctx.attempt}`);
    return gracefulComplete(ctx.attempt);
  }
}

@Flow()
class FiveFlow {
  static readonly start = FiveStep;
}

@Step({ name: 'Fast', retry: { maximumAttempts: 40, initialInterval: 1, coefficient: 10, maximumInterval: 50 } })
class FastStep {
  execute(_input: undefined, ctx: StepContext) {
    if (ctx.attempt < 40) throw new Error('again');
    return gracefulComplete(ctx.attempt);
  }
}

@Flow()
class FastFlow {
  static readonly start = FastStep;
}

const quick = { retry: { maximumAttempts: 2, initialInterval: 1 } };

class FailingBase {
  waitFor(what: string) {
    if (what === 'waitFor') throw new TypeError('waitFor failed');
    return until(Timer.after(0));
  }
  execute(what: string, ctx: StepContext) {
    proceeded.set(ctx.flowId, ctx.waitFailed?.message);
    if (what === 'execute') throw new TypeError('execute failed');
    return gracefulComplete('executed');
  }
}

@Step({ name: 'Recover' })
class RecoverStep {
  execute(_what: string, ctx: StepContext) {
    recovered.set(ctx.flowId, ctx.recovery!);
    return gracefulComplete('recovered');
  }
}

@Step({ name: 'Unset', ...quick })
class UnsetStep extends FailingBase {}

@Step({ name: 'Failing', ...quick, onWaitForFailure: 'fail', onFailure: null })
class FailingStep extends FailingBase {}

@Step({ name: 'Routed', ...quick, onWaitForFailure: 'proceed', onFailure: () => RecoverStep })
class RoutedStep extends FailingBase {}

const steps = { Unset: UnsetStep, Failing: FailingStep, Routed: RoutedStep };

@Step({ name: 'Begin' })
class BeginStep {
  execute({ what, step, override }: { what: string; step: keyof typeof steps; override: string }) {
    const movement = goTo(steps[step], what);
    if (override === 'route') return movement.with({ onWaitForFailure: 'proceed', onFailure: () => RecoverStep });
    return override === 'fail' ? movement.with({ onWaitForFailure: 'fail', onFailure: null }) : movement;
  }
}

@Flow()
class PolicyFlow {
  static readonly start = BeginStep;
  static readonly steps = [UnsetStep, FailingStep, RoutedStep, RecoverStep];
}

describeOnEveryStore('Retry counts', (stack) => {
  it('[C33] N attempts are exactly N, numbered from 1 without gaps, in both durabilities', async () => {
    const system = await stack.open({ flows: [FiveFlow] });
    for (const durability of ['SYNC', 'ASYNC'] as const) {
      const flowId = fresh('five');
      await system.client.start(FiveFlow, flowId, 'throw', { durability });
      const error = await failureOf(system.client, FiveFlow, flowId);
      assert.deepEqual(attempts.of(flowId), [1, 2, 3, 4, 5]);
      assert.equal((error.cause as Error).message, 'attempt 5');
      const failed = await eventsOf(system.client, flowId, 'AttemptFailed');
      assert.deepEqual(failed.map(({ fields }) => fields.attempt).sort(), [1, 2, 3, 4, 5].slice(0, failed.length));
      const [given] = await eventsOf(system.client, flowId, 'StepFailed');
      assert.equal(given!.fields.attempts, 5);
    }
  });

  it('[C33] attempts lost in crashes count once each, and end no Step that has attempts left', async () => {
    const system = await stack.open({ flows: [FiveFlow] });
    const flowId = fresh('five');
    await system.client.start(FiveFlow, flowId, 'crash');
    for (const attempt of [1, 2]) {
      await eventually(() => assert.equal(gate.arrived(`${flowId} ${attempt}`), 1));
      await system.crash();
    }
    assert.equal(await system.client.result(FiveFlow, flowId), 3);
    assert.deepEqual(attempts.of(flowId), [1, 2, 3]);
    const failed = await eventsOf(system.client, flowId, 'AttemptFailed');
    assert.deepEqual(
      failed.map(({ fields }) => [fields.attempt, (fields.failure as Error).name]),
      [
        [1, 'WorkerLost'],
        [2, 'WorkerLost'],
      ],
    );
    for (const attempt of [1, 2]) gate.open(`${flowId} ${attempt}`);
  });
});

describe('Back-off and failure policies', () => {
  let env: TestEnvironment;
  before(async () => {
    env = await TestEnvironment.open({ flows: [FastFlow, PolicyFlow] });
  });
  after(() => env.close());

  it('[C35] the delay is finite, positive and never above its cap, for any legal setting', () => {
    const settings = fc.record({
      attempt: fc.integer({ min: 1, max: 10_000 }),
      initialIntervalMs: fc.integer({ min: 1, max: day }),
      coefficient: fc.double({ min: 1, max: 10, noNaN: true }),
      maximumIntervalMs: fc.oneof(fc.integer({ min: 1, max: day }), fc.constant(100 * 365 * day)),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      lot: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(settings, ({ attempt, lot, ...policy }) => {
        const ms = backoffMs(
          { ...policy, maximumAttempts: null, totalMs: null, nonRetryable: [] } as Parameters<typeof backoffMs>[0],
          attempt,
          lot,
        );
        assert.ok(Number.isSafeInteger(ms) && ms > 0, `${ms}`);
        assert.ok(ms <= Math.min(policy.maximumIntervalMs, 365 * day), `${ms}`);
      }),
      { numRuns: 2_000 },
    );
  });

  it('[C35] forty attempts with a cap of 50 ms are never further apart', async () => {
    const flowId = fresh('fast');
    await env.client.start(FastFlow, flowId);
    await env.advance(39 * 50);
    assert.equal(await env.client.result(FastFlow, flowId), 40);
    const failed = await eventsOf(env.client, flowId, 'AttemptFailed');
    const delays = failed.map(({ at, fields }) => (fields.retryAt as number) - at.getTime());
    assert.deepEqual([delays.length, delays[0], delays[1], Math.max(...delays)], [39, 1, 10, 50]);
  });

  for (const step of ['Unset', 'Failing', 'Routed'] as const) {
    for (const override of ['unset', 'fail', 'route']) {
      const routes = override === 'route' || (override === 'unset' && step === 'Routed');
      it(`[C36] the policy does what it names: Step ${step}, movement ${override}`, async () => {
        const [waitFor, execute] = [fresh('policy'), fresh('policy')];
        await env.client.start(PolicyFlow, waitFor, { what: 'waitFor', step, override });
        await env.client.start(PolicyFlow, execute, { what: 'execute', step, override });
        await env.advance('1m');
        if (!routes) {
          for (const [flowId, message] of [
            [waitFor, 'waitFor failed'],
            [execute, 'execute failed'],
          ] as const) {
            const error = await failureOf(env.client, PolicyFlow, flowId);
            assert.deepEqual([error.status, (error.cause as Error).message], ['failed', message]);
            assert.equal(recovered.has(flowId), false);
          }
          assert.equal(proceeded.has(waitFor), false);
          return;
        }
        assert.equal(await env.client.result(PolicyFlow, waitFor), 'executed');
        assert.equal(proceeded.get(waitFor), 'waitFor failed');
        assert.equal(await env.client.result(PolicyFlow, execute), 'recovered');
        const { stepExecutionId, failure, attempts: used } = recovered.get(execute)!;
        assert.deepEqual(
          [stepExecutionId, failure.name, failure.message, used],
          [`${step}-1`, 'TypeError', 'execute failed', 2],
        );
      });
    }
  }

  it('[C36] a policy that does not exist is refused before anything runs', () => {
    for (const options of [{ onWaitForFailure: 'PROCEED' }, { onWaitForFailure: true }, { onFailure: 'fail' }]) {
      @Step(options as object)
      class WrongStep {
        execute() {
          return deadEnd();
        }
      }
      @Flow()
      class WrongFlow {
        static readonly start = WrongStep;
      }
      assert.throws(() => compile([WrongFlow]), CompileError, JSON.stringify(options));
    }
    assert.ok(to(UnsetStep, ''));
  });
});
