import assert from 'node:assert/strict';
import {
  Channel,
  DurableChannel,
  deadEnd,
  Flow,
  forceFail,
  goTo,
  goToMany,
  gracefulComplete,
  Rpc,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { TestEnvironment } from '../../lib/testing';
import { eventually } from '../support/eventually';
import { eventKinds, failureOf } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';

const log = new Log();
const gate = new Gate();
const signals = new Map<string, AbortSignal>();

@Step({ name: 'Nap' })
class NapStep {
  waitFor(ms: number) {
    return until(Timer.after(ms));
  }
  execute(_ms: number, ctx: StepContext) {
    log.add(ctx.flowId, 'woke');
    return goTo(NextStep);
  }
}

@Step({ name: 'Next' })
class NextStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'next');
    return gracefulComplete();
  }
}

@Flow()
class NapFlow {
  static readonly start = NapStep;
  static readonly steps = [NextStep];
}

@Step({ name: 'Throw', retry: { initialInterval: '5s' } })
class ThrowStep {
  execute(what: string, ctx: StepContext) {
    log.add(ctx.flowId, `${what} ${ctx.attempt}`);
    if (what === 'old') throw new Error('always');
    return goTo(NextStep);
  }
}

@Flow()
class ThrowFlow {
  static readonly start = ThrowStep;
  static readonly steps = [NextStep];
}

@Channel()
class News extends DurableChannel<number> {}

@Channel()
class Never extends DurableChannel<number> {}

@Step({ name: 'Spread' })
class SpreadStep {
  execute() {
    return goToMany(to(WaitStep), to(WorkStep), to(FailStep));
  }
}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(private readonly never: Never) {}
  waitFor() {
    return until(this.never.take(1));
  }
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'Wait');
    return deadEnd();
  }
}

@Step({ name: 'Work' })
class WorkStep {
  constructor(private readonly news: News) {}
  async execute(_input: undefined, ctx: StepContext) {
    signals.set(ctx.flowId, ctx.signal);
    ctx.heartbeat(1);
    this.news.publish(1);
    await gate.pass(`${ctx.flowId} work`);
    log.add(ctx.flowId, 'work ended');
    this.news.publish(2);
    return goTo(NextStep);
  }
}

@Step({ name: 'Fail' })
class FailStep {
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(`${ctx.flowId} fail`);
    return forceFail('x');
  }
}

@Flow()
class SpreadFlow {
  static readonly start = SpreadStep;
  static readonly steps = [WaitStep, WorkStep, FailStep, NextStep];
  constructor(private readonly news: News) {}

  @Rpc()
  async tell(flowId: string) {
    this.news.publish(3);
    await gate.pass(`${flowId} rpc`);
    return 'told';
  }
}

describe('Cancellation races', () => {
  let env: TestEnvironment;
  beforeEach(async () => {
    env = await TestEnvironment.open({ flows: [NapFlow, ThrowFlow, SpreadFlow] });
  });
  afterEach(() => env.close());

  it('[C24] cancelled in the middle of a wait stays cancelled, and nothing more runs', async () => {
    const flowId = fresh('nap');
    await env.client.start(NapFlow, flowId, 10_000);
    await env.advance('1s');
    assert.deepEqual(await env.client.stop(flowId, 'cancel', 'enough'), { status: 'cancelled' });
    const kinds = await eventKinds(env.client, flowId);
    await env.advance('1h');
    assert.equal((await env.client.describe(flowId)).status, 'cancelled');
    assert.deepEqual(await eventKinds(env.client, flowId), kinds);
    assert.deepEqual(log.of(flowId), []);
  });

  it('[C24] cancelled as the timer fires: cancelled and silent, or through before', async () => {
    const seen = { cancelled: 0, completed: 0 };
    for (let round = 0; round < 120; round++) {
      const flowId = fresh('nap');
      await env.client.start(NapFlow, flowId, 1_000);
      await env.advance(997 + (round % 3));
      const before = round % 2 === 0;
      const moving = before ? undefined : env.advance(round % 5);
      for (let turns = round % 11; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      const { status } = await env.client.stop(flowId, 'cancel', 'enough');
      const said = log.of(flowId).length;
      await moving;
      await env.advance('15s');
      assert.equal((await env.client.describe(flowId)).status, status);
      if (status === 'cancelled') {
        // What ran when the cancel was accepted had begun before it.
        assert.ok(!log.of(flowId).slice(said).includes('next'), log.of(flowId).join());
        seen.cancelled++;
      } else {
        assert.equal(status, 'completed');
        assert.deepEqual(log.of(flowId), ['woke', 'next']);
        seen.completed++;
      }
    }
    assert.ok(seen.cancelled > 0 && seen.completed > 0, JSON.stringify(seen));
  });

  it('[C26] a cancel during back-off removes the retry', async () => {
    const flowId = fresh('throw');
    await env.client.start(ThrowFlow, flowId, 'old');
    await env.advance('2s');
    assert.equal((await env.client.stop(flowId, 'cancel', 'enough')).status, 'cancelled');
    await env.advance('20s');
    assert.deepEqual(log.of(flowId), ['old 1']);
    assert.equal((await env.client.describe(flowId)).status, 'cancelled');
  });

  it('[C26] a run that takes the place of one in back-off is the only one that goes on', async () => {
    const flowId = fresh('throw');
    const { runId } = await env.client.start(ThrowFlow, flowId, 'old');
    await env.advance('2s');
    await env.client.start(ThrowFlow, flowId, 'new', { idReuse: 'terminateRunning' });
    await env.advance('20s');
    assert.deepEqual(log.of(flowId), ['old 1', 'new 1', 'next']);
    assert.equal((await env.client.describe(flowId, { runId })).status, 'terminated');
    assert.equal((await env.client.describe(flowId)).status, 'completed');
  });

  for (const how of ['a Step fails the Flow', 'the client cancels it'] as const) {
    it(`[C27] ${how} while Steps wait, run and publish, and an RPC publishes`, async () => {
      const flowId = fresh('spread');
      await env.client.start(SpreadFlow, flowId);
      const told = env.client.rpc(SpreadFlow, flowId).tell(flowId);
      await eventually(() => {
        for (const name of ['work', 'fail', 'rpc']) assert.equal(gate.arrived(`${flowId} ${name}`), 1);
      });
      const stopping = how === 'the client cancels it' && env.client.stop(flowId, 'cancel', 'enough');
      if (!stopping) gate.open(`${flowId} fail`);
      await env.settled({ whileRunning: true });
      assert.ok(signals.get(flowId)!.aborted);
      // An RPC that had started is finished first, and has its answer.
      gate.open(`${flowId} rpc`);
      assert.equal(await told, 'told');
      const error = await failureOf(env.client, SpreadFlow, flowId);
      assert.equal(error.status, stopping ? 'cancelled' : 'failed');
      if (stopping) assert.equal((await stopping).status === 'completed', false);
      gate.open(`${flowId} work`);
      gate.open(`${flowId} fail`);
      await env.advance('1h');
      assert.deepEqual(log.of(flowId), ['work ended']);
      const { unread } = await env.client.describe(flowId);
      assert.deepEqual(unread, [{ channel: 'News', key: undefined, messages: 1 }]);
      await assert.rejects(env.client.publish(SpreadFlow, flowId, News, 4), { code: 'FLOW_NOT_ACTIVE' });
    });
  }
});
