import assert from 'node:assert/strict';
import {
  Attribute,
  continueAsNew,
  DurableAttribute,
  deadEnd,
  Flow,
  forceComplete,
  forceFail,
  goTo,
  gracefulComplete,
  OnTimeout,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, failureOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const log = new Log();
const gate = new Gate();
const hour = 3_600_000;

@Attribute()
class Why extends DurableAttribute<string> {}

@Step({ name: 'Long' })
class LongStep {
  waitFor(_input: string | undefined) {
    return until(Timer.after('10d'));
  }
  execute() {
    return gracefulComplete('in time');
  }
}

@Step({ name: 'Hop' })
class HopStep {
  waitFor(_hops: number) {
    return until(Timer.after('20m'));
  }
  execute(hops: number) {
    return hops === 0 ? goTo(LongStep) : continueAsNew(HopFlow, hops - 1);
  }
}

@Step({ name: 'After' })
class AfterStep {
  execute(why: string) {
    return gracefulComplete(`after ${why}`);
  }
}

@Flow({ timeout: '1h' })
class FailFlow {
  static readonly start = LongStep;
}

@Flow({ timeout: '1h', onTimeout: 'cancel' })
class CancelFlow {
  static readonly start = LongStep;
}

@Flow({ timeout: '1h' })
class HopFlow {
  static readonly start = HopStep;
  static readonly steps = [LongStep];
}

/** What its handler decides is the input of the Flow. */
@Flow({ timeout: '1h' })
class HandlerFlow {
  static readonly start = LongStep;
  static readonly steps = [AfterStep];
  constructor(private readonly why: Why) {}

  @OnTimeout()
  protected async tooLate(ctx: StepContext) {
    log.add(ctx.flowId, `${ctx.from.kind} ${ctx.attempt}`);
    this.why.set('too late');
    const way = ctx.flowId.split('-')[0];
    if (way === 'gated') await gate.pass(ctx.flowId);
    if (way === 'goto') return goTo(AfterStep, 'the time-out').cancelling(LongStep);
    if (way === 'complete') return forceComplete('late');
    if (way === 'fail') return forceFail('gave up');
    if (way === 'continue') return continueAsNew(HandlerFlow);
    return deadEnd();
  }

  @Rpc()
  begin(ctx: RpcContext) {
    ctx.start(AfterStep, 'a call');
  }
}

const flows = [FailFlow, CancelFlow, HopFlow, HandlerFlow];

describeOnEveryStack('Flow timeout', flows, (stack) => {
  const started = async (
    flow: typeof FailFlow | typeof CancelFlow | typeof HandlerFlow,
    name: string,
    options = {},
  ) => {
    const system = await stack.open({ flows });
    const flowId = fresh(name);
    await system.client.start(flow, flowId, undefined, options);
    await eventually(async () => assert.equal((await stepStates(system.client, flowId))['Long-1'], 'waiting'));
    return { system, flowId };
  };
  const statusOf = async ({ client }: System, flowId: string) => (await client.describe(flowId)).status;

  it('[F7] [F10] fail is the default: status failed, kind timeout, not before its time, also over a crash', async () => {
    const { system, flowId } = await started(FailFlow, 'timeout');
    await system.advance(hour - 60_000);
    assert.equal(await statusOf(system, flowId), 'running');
    await system.crash();
    assert.equal(await statusOf(system, flowId), 'running');
    await system.advance(61_000);
    const error = await failureOf(system.client, FailFlow, flowId);
    assert.deepEqual([error.status, error.failKind, (error.cause as Error).name], ['failed', 'timeout', 'FlowTimeout']);
    // [F4] One that timed out counts as failed.
    await system.client.start(FailFlow, flowId, undefined, { idReuse: 'ifPreviousFailed' });
  });

  it('[F7] cancel cancels', async () => {
    const { system, flowId } = await started(CancelFlow, 'timeout');
    await system.advance(hour + 1_000);
    assert.equal((await failureOf(system.client, CancelFlow, flowId)).status, 'cancelled');
  });

  it('[F7] a start may say otherwise: longer, or none', async () => {
    for (const timeout of ['3h', null] as const) {
      const { system, flowId } = await started(FailFlow, 'timeout', { timeout });
      await system.advance(2 * hour);
      assert.equal(await statusOf(system, flowId), 'running');
      await system.advance(hour + 1_000);
      assert.equal(await statusOf(system, flowId), timeout === null ? 'running' : 'failed');
    }
  });

  it('[F7] the deadline is kept over continue-as-new', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('timeout');
    await system.client.start(HopFlow, flowId, 1);
    const { deadlineAt, runId } = await system.client.describe(flowId);
    await eventually(async () => assert.equal((await stepStates(system.client, flowId))['Hop-1'], 'waiting'));
    await system.advance(21 * 60_000);
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).runId, runId));
    assert.equal((await system.client.describe(flowId)).deadlineAt, deadlineAt);
    await system.advance(hour - 21 * 60_000 + 1_000);
    assert.equal((await failureOf(system.client, HopFlow, flowId)).failKind, 'timeout');
  });

  for (const [way, status, output] of [
    ['goto', 'completed', 'after the time-out'],
    ['complete', 'completed', 'late'],
    ['fail', 'failed', undefined],
  ] as const) {
    it(`[F7] a method marked @OnTimeout runs once and may decide anything: ${way}`, async () => {
      const { system, flowId } = await started(HandlerFlow, way);
      await system.advance(hour + 1_000);
      const result = await system.client.result(HandlerFlow, flowId, { throwOnFailure: false });
      assert.equal(result.status, status);
      if (result.status === 'completed') assert.equal(result.output, output);
      assert.deepEqual(log.of(flowId), ['timeout 1']);
      assert.equal((await system.client.attributes(HandlerFlow, flowId)).get(Why), 'too late');
    });
  }

  it('[F7] a handler that ends its branch leaves the Flow to go on, and runs no second time', async () => {
    const { system, flowId } = await started(HandlerFlow, 'deadend');
    await system.advance(hour + 1_000);
    await eventually(async () => assert.ok((await eventKinds(system.client, flowId)).includes('ExecuteCompleted')));
    await system.crash();
    await system.advance(5 * hour);
    assert.equal(await statusOf(system, flowId), 'running');
    assert.deepEqual(log.of(flowId), ['timeout 1']);
    await system.advance(10 * 24 * hour);
    assert.equal(await system.client.result(HandlerFlow, flowId), 'in time');
  });

  it('[F7] a handler that continues as new runs no second time in the next run', async () => {
    const { system, flowId } = await started(HandlerFlow, 'continue');
    await system.advance(hour + 1_000);
    await eventually(async () => assert.equal((await system.client.describe(flowId)).scheduled.Long, 2));
    await system.crash();
    await system.advance(5 * hour);
    assert.deepEqual(log.of(flowId), ['timeout 1']);
    assert.equal((await eventKinds(system.client, flowId))[0], 'RunContinued');
  });

  it('[F7] a handler that was running when the engine was lost is tried again, as a Step', async () => {
    const { system, flowId } = await started(HandlerFlow, 'gated');
    await system.advance(hour + 1_000);
    await eventually(() => gate.arrived(flowId) === 1);
    await system.crash();
    gate.open(flowId);
    await eventually(async () => {
      await system.advance(1_000);
      assert.deepEqual(log.of(flowId), ['timeout 1', 'timeout 2']);
    });
    assert.equal(await statusOf(system, flowId), 'running');
  });

  it('[F7] a Flow that ended before its deadline is left alone', async () => {
    const { system, flowId } = await started(HandlerFlow, 'complete');
    await system.client.skipTimer(flowId, 'Long-1');
    assert.equal(await system.client.result(HandlerFlow, flowId), 'in time');
    await system.advance(2 * hour);
    assert.deepEqual(log.of(flowId), []);
    assert.equal((await eventKinds(system.client, flowId)).at(-1), 'FlowClosed');
  });
});
