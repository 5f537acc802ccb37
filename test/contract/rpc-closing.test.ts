import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  forceComplete,
  forceFail,
  gracefulComplete,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { pastDeadline } from '../support/past-deadline';
import { describeOnEveryStack, type System } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute()
class Noted extends DurableAttribute<string> {}

@Channel()
class Notes extends DurableChannel<string> {}

/** Ends the Flow in one of the ways there are, when its gate opens. */
@Step({ name: 'End', retry: { maximumAttempts: 1 } })
class EndStep {
  async execute(how: string, ctx: StepContext) {
    await gate.pass(`${ctx.flowId} end`);
    if (how === 'graceful') return gracefulComplete(how);
    if (how === 'complete') return forceComplete(how);
    if (how === 'fail') return forceFail(how);
    if (how === 'throw') throw new Error('broken');
    return deadEnd();
  }
}

@Step({ name: 'More' })
class MoreStep {
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'more');
    await gate.pass(`${ctx.flowId} more`);
    return gracefulComplete('more');
  }
}

@Step({ name: 'Sleep' })
class SleepStep {
  waitFor() {
    return until(Timer.after('1d'));
  }
  execute() {
    return deadEnd();
  }
}

@Flow({ timeout: '10d' })
class EndFlow {
  static readonly start = EndStep;
  static readonly steps = [MoreStep, SleepStep];
  constructor(
    private readonly noted: Noted,
    private readonly notes: Notes,
  ) {}

  @Rpc()
  async note(text: string, ctx: RpcContext) {
    log.add(ctx.flowId, `note ${text}`);
    await gate.pass(`${ctx.flowId} note`);
    this.noted.set(text);
    this.notes.publish(text);
    ctx.start(MoreStep);
    return text;
  }

  @Rpc()
  sleep(ctx: RpcContext) {
    ctx.start(SleepStep);
  }

  @Rpc()
  async think(ctx: RpcContext) {
    log.add(ctx.flowId, 'think');
    await gate.pass(`${ctx.flowId} note`);
    return 'thought';
  }
}

const flows = [EndFlow];
type Way = 'complete' | 'fail' | 'throw' | 'cancel' | 'stop';

describeOnEveryStack('RPCs while the Flow closes', flows, (stack) => {
  const system = stack.shared({ flows });
  const open = async (how: string, on: System = system) => {
    const flowId = fresh('closing');
    await on.client.start(EndFlow, flowId, how);
    await eventually(() => gate.arrived(`${flowId} end`) === 1);
    return { flowId, rpc: on.client.rpc(EndFlow, flowId) };
  };
  const noting = async (flowId: string, rpc: { note(text: string): Promise<string> }) => {
    const answer = rpc.note('late');
    await eventually(() => gate.arrived(`${flowId} note`) === 1);
    return answer;
  };
  const statusOf = async (flowId: string) => (await system.client.describe(flowId)).status;
  const close = async (flowId: string, way: Way) => {
    if (way === 'cancel') await system.client.stop(flowId, 'cancel', 'enough');
    else if (way === 'stop') await system.client.stop(flowId, 'fail', 'enough');
    else gate.open(`${flowId} end`);
  };

  for (const way of ['complete', 'fail', 'throw', 'cancel', 'stop'] as const) {
    it(`[R9] [O4] a started RPC is finished and saved before the Flow closes: ${way}`, async () => {
      const { flowId, rpc } = await open(way);
      await rpc.sleep();
      const answer = rpc.note('late');
      await eventually(() => gate.arrived(`${flowId} note`) === 1);
      await close(flowId, way);
      await eventually(async () => (await eventsOf(system.client, flowId, 'FlowClosing')).length === 1);
      // It reads as running, has no Step any more and takes nothing new.
      const closing = await system.client.describe(flowId);
      assert.deepEqual([closing.status, closing.steps], ['running', []]);
      await refuses(rpc.sleep(), 'FLOW_CLOSING');
      await refuses(system.client.publish(EndFlow, flowId, Notes, 'x'), 'FLOW_NOT_ACTIVE', /closing/);
      gate.open(`${flowId} note`);
      assert.equal(await answer, 'late');
      const status = way === 'complete' ? 'completed' : way === 'cancel' ? 'cancelled' : 'failed';
      await eventually(async () => assert.equal(await statusOf(flowId), status));
      // Its writes are saved, its publish counts as unread, its Step is not started.
      assert.equal((await system.client.attributes(EndFlow, flowId)).get(Noted), 'late');
      const { unread, scheduled } = await system.client.describe(flowId);
      assert.deepEqual(unread, [{ channel: 'Notes', key: undefined, messages: 1 }]);
      assert.equal(scheduled.More, undefined);
      assert.deepEqual((await eventKinds(system.client, flowId)).slice(-2), ['RpcCompleted', 'FlowClosed']);
      gate.open(`${flowId} end`);
    });
  }

  it('[R9] a closing Flow waits for a started RPC at most to its deadline', async () => {
    const { flowId } = await open('complete');
    const late = system.client.rpc(EndFlow, flowId, { deadline: '20s' }).note('late');
    const refused = refuses(late, 'DEADLINE_EXCEEDED', /did not end/);
    await eventually(() => gate.arrived(`${flowId} note`) === 1);
    gate.open(`${flowId} end`);
    await eventually(async () => (await eventsOf(system.client, flowId, 'FlowClosing')).length === 1);
    await system.advance(12_000);
    assert.equal(await statusOf(flowId), 'running');
    await pastDeadline(system, 8_000);
    await refused;
    assert.equal(await system.client.result(EndFlow, flowId), 'complete');
    gate.open(`${flowId} note`);
    assert.equal((await system.client.attributes(EndFlow, flowId)).get(Noted), undefined);
  });

  it('[R9] terminate waits for nothing: a started RPC is refused, and what it did is discarded', async () => {
    const { flowId, rpc } = await open('complete');
    const answer = refuses(noting(flowId, rpc), 'FLOW_NOT_ACTIVE');
    await eventually(() => gate.arrived(`${flowId} note`) === 1);
    assert.deepEqual(await system.client.stop(flowId, 'terminate', 'now'), { status: 'terminated' });
    await answer;
    gate.open(`${flowId} note`);
    gate.open(`${flowId} end`);
    await refuses(rpc.note('later'), 'FLOW_NOT_ACTIVE');
    assert.equal((await eventsOf(system.client, flowId, 'RpcCompleted')).length, 0);
  });

  it('[R9] terminate ends a closing Flow at once', async () => {
    const { flowId, rpc } = await open('complete');
    const answer = refuses(noting(flowId, rpc), 'FLOW_NOT_ACTIVE');
    await eventually(() => gate.arrived(`${flowId} note`) === 1);
    assert.deepEqual(await system.client.stop(flowId, 'cancel', 'soon'), { status: 'running' });
    assert.deepEqual(await system.client.stop(flowId, 'terminate', 'now'), { status: 'terminated' });
    await answer;
    gate.open(`${flowId} note`);
    gate.open(`${flowId} end`);
  });

  it('[R9] [D2] a Step that a started RPC starts puts off a graceful completion', async () => {
    const { flowId, rpc } = await open('graceful');
    const answer = noting(flowId, rpc);
    await eventually(() => gate.arrived(`${flowId} note`) === 1);
    gate.open(`${flowId} end`);
    await system.client.waitForStep(EndFlow, flowId, EndStep);
    // One that comes now has to wait, so that completing cannot be put off for ever.
    const held = refuses(rpc.think(), 'FLOW_NOT_ACTIVE').catch(() => 'answered');
    assert.equal(await statusOf(flowId), 'running');
    assert.deepEqual(log.of(flowId), ['note late']);
    gate.open(`${flowId} note`);
    assert.equal(await answer, 'late');
    await eventually(() => gate.arrived(`${flowId} more`) === 1);
    assert.equal(await statusOf(flowId), 'running');
    // There is a Step again, so the one that waited goes on.
    assert.equal(await held, 'answered');
    gate.open(`${flowId} more`);
    await eventually(async () => assert.equal(await statusOf(flowId), 'completed'));
  });

  it('[R9] [O4] a graceful completion waits for a started RPC, also for one that changes nothing', async () => {
    const { flowId, rpc } = await open('graceful');
    const thinking = rpc.think();
    await eventually(() => gate.arrived(`${flowId} note`) === 1);
    gate.open(`${flowId} end`);
    await system.client.waitForStep(EndFlow, flowId, EndStep);
    const held = refuses(rpc.sleep(), 'FLOW_NOT_ACTIVE');
    assert.equal(await statusOf(flowId), 'running');
    gate.open(`${flowId} note`);
    assert.equal(await thinking, 'thought');
    assert.equal(await system.client.result(EndFlow, flowId), 'graceful');
    await held;
  });

  for (const [what, how] of [
    ['is closing', 'complete'],
    ['is to complete', 'graceful'],
  ] as const) {
    it(`[R9] [X10] a Flow that ${what} closes also if the engine is lost with the RPC it waits for`, async () => {
      const own = await stack.open({ flows });
      const { flowId, rpc } = await open(how, own);
      const lost = rpc.note('late').catch((error) => error.code);
      await eventually(() => gate.arrived(`${flowId} note`) === 1);
      gate.open(`${flowId} end`);
      await own.client.waitForStep(EndFlow, flowId, EndStep);
      await own.crash();
      assert.equal(await lost, 'CLOSED');
      assert.equal(await own.client.result(EndFlow, flowId, { deadline: '20s' }), how);
      gate.open(`${flowId} note`);
      await refuses(own.client.rpc(EndFlow, flowId).note('late'), 'FLOW_NOT_ACTIVE');
    });
  }

  it('[F4] a start that replaces the run answers those who wait for its RPCs', async () => {
    const { flowId, rpc } = await open('complete');
    const answer = refuses(noting(flowId, rpc), 'FLOW_NOT_ACTIVE');
    await eventually(() => gate.arrived(`${flowId} note`) === 1);
    await system.client.start(EndFlow, flowId, 'graceful', { idReuse: 'terminateRunning' });
    await answer;
    gate.open(`${flowId} note`);
    gate.open(`${flowId} end`);
    assert.equal(await system.client.result(EndFlow, flowId), 'graceful');
    assert.equal((await system.client.attributes(EndFlow, flowId)).get(Noted), undefined);
  });
});
