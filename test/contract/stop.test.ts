import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goToMany,
  gracefulComplete,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, failureOf, refuses, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();
const log = new Log();
const aborted = new Log<true>();
const day = 86_400_000;

@Attribute()
class Saved extends DurableAttribute<string> {}

@Attribute()
class Unsaved extends DurableAttribute<string> {}

@Channel()
class Wakes extends DurableChannel<string> {}

@Step({ name: 'Plan' })
class PlanStep {
  execute() {
    return goToMany(to(WorkStep), to(SleepStep), to(RetryStep));
  }
}

@Step({ name: 'Work', retry: { initialInterval: 1 } })
class WorkStep {
  constructor(
    private readonly saved: Saved,
    private readonly unsaved: Unsaved,
    private readonly wakes: Wakes,
  ) {}
  waitFor() {
    this.saved.set('by waitFor');
    this.wakes.publish('by waitFor');
    return until(Timer.after(0));
  }
  async execute(_input: undefined, ctx: StepContext) {
    this.unsaved.set('by execute');
    this.wakes.publish('by execute');
    ctx.signal.addEventListener('abort', () => aborted.add(ctx.flowId, true));
    log.add(ctx.flowId, 'execute');
    await gate.pass(ctx.flowId);
    log.add(ctx.flowId, 'ran on');
    return goToMany(to(AfterStep));
  }
}

@Step({ name: 'Sleep' })
class SleepStep {
  waitFor(_input: undefined) {
    return until(Timer.after('1d'));
  }
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'awake');
    return deadEnd();
  }
}

@Step({ name: 'Retry', retry: { initialInterval: '1h', coefficient: 1 } })
class RetryStep {
  execute(_input: undefined, ctx: StepContext): never {
    log.add(ctx.flowId, 'attempt');
    throw new Error('again');
  }
}

@Step({ name: 'After' })
class AfterStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'after');
    return gracefulComplete();
  }
}

@Flow()
class BusyFlow {
  static readonly start = PlanStep;
  static readonly steps = [WorkStep, SleepStep, RetryStep, AfterStep];
}

/** One branch cancels the others when it is told to. */
@Step({ name: 'Boss' })
class BossStep {
  execute() {
    return goToMany(to(WorkStep), to(SleepStep), to(CancelStep));
  }
}

@Step({ name: 'Cancel' })
class CancelStep {
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(`${ctx.flowId} cancel`);
    return deadEnd().cancelling(WorkStep, SleepStep);
  }
}

@Step({ name: 'Later' })
class LaterStep {
  execute() {
    return deadEnd();
  }
}

@Flow()
class BossFlow {
  static readonly start = BossStep;
  static readonly steps = [WorkStep, SleepStep, CancelStep, AfterStep, LaterStep];
}

@Step({ name: 'Finish' })
class FinishStep {
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return gracefulComplete('finished');
  }
}

@Flow()
class FinishFlow {
  static readonly start = FinishStep;
}

const flows = [BusyFlow, BossFlow, FinishFlow];

describeOnEveryStack('Stop', flows, (stack) => {
  const system = stack.shared({ flows });

  const busy = async () => {
    const flowId = fresh('busy');
    await system.client.start(BusyFlow, flowId);
    await eventually(async () =>
      assert.deepEqual(await stepStates(system.client, flowId), {
        'Work-1': 'running',
        'Sleep-1': 'waiting',
        'Retry-1': 'backoff',
      }),
    );
    await eventually(() => gate.arrived(flowId) === 1);
    return flowId;
  };
  /** A Flow that goes through worker and engine after all that was on its way. */
  const barrier = async () => {
    const flowId = fresh('barrier');
    gate.open(flowId);
    await system.client.start(FinishFlow, flowId);
    await system.client.result(FinishFlow, flowId);
  };

  it('[O1] cancelling a Step discards what its method has not saved; what waitFor saved stays', async () => {
    const flowId = fresh('boss');
    await system.client.start(BossFlow, flowId);
    await eventually(() => gate.arrived(flowId) === 1);
    await eventually(async () => assert.equal((await stepStates(system.client, flowId))['Sleep-1'], 'waiting'));
    gate.open(`${flowId} cancel`);
    await system.client.waitForStep(BossFlow, flowId, CancelStep);
    assert.deepEqual(await stepStates(system.client, flowId), {});
    gate.open(flowId);
    await eventually(() => log.count(flowId, 'ran on') === 1);
    await barrier();
    const values = await system.client.attributes(BossFlow, flowId);
    assert.deepEqual([values.get(Saved), values.get(Unsaved)], ['by waitFor', undefined]);
    const { unread, status } = await system.client.describe(flowId);
    assert.deepEqual([unread, status], [[{ channel: 'Wakes', key: undefined, messages: 1 }], 'running']);
    assert.equal(log.count(flowId, 'after'), 0);
  });

  it('[O1] a cancelled number is used up, and waiting for it counts as finished', async () => {
    const flowId = fresh('boss');
    await system.client.start(BossFlow, flowId);
    await eventually(() => gate.arrived(flowId) === 1);
    const waiting = Promise.all([
      system.client.waitForStep(BossFlow, flowId, WorkStep),
      system.client.waitForStep(BossFlow, flowId, SleepStep),
    ]);
    gate.open(`${flowId} cancel`);
    await waiting;
    await system.client.waitForStep(BossFlow, flowId, WorkStep);
    assert.deepEqual((await system.client.describe(flowId)).scheduled, { Boss: 1, Work: 1, Sleep: 1, Cancel: 1 });
    const cancelled = await eventsOf(system.client, flowId, 'StepCancelled');
    assert.deepEqual(cancelled.map(({ fields }) => fields.execution).sort(), ['Sleep-1', 'Work-1']);
    await system.advance(2 * day);
    assert.deepEqual(await stepStates(system.client, flowId), {});
    assert.equal(log.count(flowId, 'awake'), 0);
    gate.open(flowId);
  });

  for (const [how, status, failKind] of [
    ['cancel', 'cancelled', null],
    ['fail', 'failed', 'client'],
    ['terminate', 'terminated', null],
  ] as const) {
    it(`[O3] ${how} closes the Flow, running, waiting and retrying Steps and all, without waiting for a handler`, async () => {
      const flowId = await busy();
      assert.deepEqual(await system.client.stop(flowId, how, 'no longer needed'), { status });
      const error = await failureOf(system.client, BusyFlow, flowId);
      assert.deepEqual([error.status, error.failKind], [status, failKind]);
      assert.match(error.message, /no longer needed/);
      await eventually(() => aborted.of(flowId).length > 0);
      const described = await system.client.describe(flowId);
      assert.deepEqual([described.status, described.steps], [status, []]);
      gate.open(flowId);
      await eventually(() => log.count(flowId, 'ran on') === 1);
      await barrier();
      await system.advance(2 * day);
      // Nothing of it goes on: no timer, no retry, no late result.
      assert.deepEqual(
        log
          .of(flowId)
          .filter((entry) => entry !== 'ran on')
          .sort(),
        ['attempt', 'execute'],
      );
      assert.equal((await system.client.describe(flowId)).status, status);
      const kinds = await eventKinds(system.client, flowId);
      assert.deepEqual(kinds.slice(-4), ['StepCancelled', 'StepCancelled', 'StepCancelled', 'FlowClosed']);
      assert.equal((await system.client.attributes(BusyFlow, flowId)).get(Unsaved), undefined);
    });
  }

  it('[O3] the first stop wins', async () => {
    const flowId = await busy();
    const answers = await Promise.all([
      system.client.stop(flowId, 'fail', 'first'),
      system.client.stop(flowId, 'cancel', 'second'),
      system.client.stop(flowId, 'terminate', 'third'),
    ]);
    assert.deepEqual(answers, Array(3).fill({ status: 'failed' }));
    assert.match((await failureOf(system.client, BusyFlow, flowId)).message, /first/);
    assert.equal((await eventsOf(system.client, flowId, 'FlowClosed')).length, 1);
    await refuses(system.client.stop(fresh('unknown'), 'cancel', 'x'), 'FLOW_NOT_FOUND');
    await refuses(system.client.stop(flowId, 'pause' as never, 'x'), 'INVALID_ARGUMENT');
    gate.open(flowId);
  });

  it('[O3] a Flow told to cancel does not end as completed, and a completed one stays so', async () => {
    const outcomes = new Set<string>();
    for (let i = 0; i < 30; i++) {
      const flowId = fresh('finish');
      await system.client.start(FinishFlow, flowId);
      await eventually(() => gate.arrived(flowId) === 1);
      gate.open(flowId);
      for (let turn = 0; turn < i % 6; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      const { status } = await system.client.stop(flowId, 'cancel', 'in a race');
      assert.equal((await system.client.describe(flowId)).status, status);
      const result = await system.client.result(FinishFlow, flowId, { throwOnFailure: false });
      assert.equal(result.status, status);
      outcomes.add(status);
    }
    assert.deepEqual(
      [...outcomes].filter((status) => status !== 'cancelled' && status !== 'completed'),
      [],
    );
  });

  it('[O3] a stop that was answered holds after a crash', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('finish');
    await own.client.start(FinishFlow, flowId);
    await own.client.stop(flowId, 'cancel', 'enough');
    gate.open(flowId);
    await own.crash();
    assert.equal((await own.client.describe(flowId)).status, 'cancelled');
    assert.deepEqual(await own.client.stop(flowId, 'fail', 'too late'), { status: 'cancelled' });
  });
});
