import assert from 'node:assert/strict';
import {
  anyOf,
  Channel,
  type Client,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Rpc,
  Step,
  type StepContext,
  type SubFlowOptions,
  startSubFlow,
  subFlow,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, stepStates } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const begun = new Log();

@Channel()
class Wakes extends DurableChannel<string> {}

@Step({ name: 'Work' })
class WorkStep {
  constructor(private readonly wakes: Wakes) {}
  waitFor(_: string, ctx: StepContext) {
    begun.add(ctx.parent?.flowId ?? '', ctx.flowId);
    return until(this.wakes.take(1));
  }
  execute(name: string) {
    const [how] = this.wakes.received();
    if (how === 'fail') throw new RangeError(`${name} failed`);
    return gracefulComplete(`${name} ${how}`);
  }
}

@Flow({ name: 'TravelChild' })
class ChildFlow {
  static readonly start = WorkStep;
  constructor(readonly wakes: Wakes) {}
}

interface Family {
  readonly parentClose: SubFlowOptions['parentClose'];
  readonly flowId?: string;
  readonly reuse?: SubFlowOptions['reuse'];
}

@Step({ name: 'Begin' })
class BeginStep {
  execute(family: Family) {
    return goTo(ParentStep, family);
  }
}

@Step({ name: 'Parent' })
class ParentStep {
  constructor(private readonly wakes: Wakes) {}
  waitFor({ parentClose, flowId, reuse }: Family) {
    const options = { parentClose, ...(flowId && { flowId }), ...(reuse && { reuse }) };
    return anyOf(subFlow(ChildFlow, 'child', { ...options, id: 'child' }), this.wakes.take(1));
  }
  execute(_: Family, ctx: StepContext) {
    const child = ctx.subFlow('child');
    return gracefulComplete(child ? `${child.status} ${child.output ?? child.error?.name}` : 'woken');
  }
}

@Flow({ name: 'TravelParent' })
class ParentFlow {
  static readonly start = BeginStep;
  static readonly steps = [ParentStep];

  @Rpc()
  hire(flowId: string) {
    startSubFlow(ChildFlow, 'hired', { parentClose: 'terminate', flowId });
  }
}

const flows = [ParentFlow, ChildFlow];

describeOnEveryStack('timeTravel and SubFlows', (stack) => {
  const system = stack.shared({ flows });
  const open = async (family: Family) => {
    const { client } = system;
    const flowId = fresh('family');
    await client.start(ParentFlow, flowId, family);
    const child = await runningChild(client, flowId);
    const wake = (how: string) => client.publish(ChildFlow, child.flowId, Wakes, how);
    return { client, flowId, child, wake };
  };
  const runningChild = (client: Client, flowId: string) =>
    eventually(async () => {
      const [child] = (await client.describe(flowId)).children;
      assert.equal(child?.status, 'running');
      assert.deepEqual(await stepStates(client, child.flowId), { 'Work-1': 'waiting' });
      return child;
    });

  it('[K4] a SubFlow goes on, and is attached again by its key where the wait is made again', async () => {
    const { client, flowId, child, wake } = await open({ parentClose: 'terminate' });
    await client.timeTravel(flowId, { step: 'Begin-1', method: 'execute' });
    const again = await runningChild(client, flowId);
    assert.deepEqual([again.flowId, again.runId], [child.flowId, child.runId]);
    assert.deepEqual(begun.of(flowId), [child.flowId]);
    await wake('done');
    assert.equal(await client.result(ParentFlow, flowId), 'completed child done');
  });

  it('[K4] one that was running at the moment gone back to is attached again, and told as it ended since', async () => {
    const { client, flowId, child, wake } = await open({ parentClose: 'terminate' });
    const { length } = await client.history(flowId);
    await wake('done');
    assert.equal(await client.result(ParentFlow, flowId), 'completed child done');
    await client.timeTravel(flowId, { event: length });
    assert.equal(await client.result(ParentFlow, flowId), 'completed child done');
    assert.equal((await eventsOf(client, flowId, 'ChildStarted'))[0]!.fields.runId, child.runId);
    assert.deepEqual(begun.of(flowId), [child.flowId]);
  });

  it('[K4] one that was running then and has failed since is not started again: its parent is told', async () => {
    const { client, flowId, child } = await open({ parentClose: 'terminate' });
    const { length } = await client.history(flowId);
    await client.stop(child.flowId, 'fail', 'broken');
    assert.equal(await client.result(ParentFlow, flowId), 'failed Stopped');
    await client.timeTravel(flowId, { event: length });
    assert.equal(await client.result(ParentFlow, flowId), 'failed Stopped');
    assert.deepEqual(begun.of(flowId), [child.flowId]);
    assert.equal((await client.describe(child.flowId)).runId, child.runId);
  });

  it('[K4] [U3] one that is attached again is closed with its parent by its policy, and an attached one is not', async () => {
    const { client, flowId, child } = await open({ parentClose: 'cancel' });
    const other = fresh('own');
    await client.start(ChildFlow, other, 'of its own');
    const attached = await open({ parentClose: 'cancel', flowId: other, reuse: 'attach' });
    for (const parent of [flowId, attached.flowId]) {
      await client.timeTravel(parent, { event: (await client.history(parent)).length });
      await runningChild(client, parent);
      await client.timeTravel(parent, 'beginning');
      await runningChild(client, parent);
      await client.stop(parent, 'terminate', 'over');
    }
    await eventually(async () => assert.equal((await client.describe(child.flowId)).status, 'cancelled'));
    await client.publish(ChildFlow, other, Wakes, 'alive');
    assert.equal(await client.result(ChildFlow, other), 'of its own alive');
  });

  it('[K4] [U4] one that has failed since is started again by its policy, under the same flowId', async () => {
    const { client, flowId, child, wake } = await open({ parentClose: 'terminate' });
    await client.stop(child.flowId, 'fail', 'broken');
    assert.equal(await client.result(ParentFlow, flowId), 'failed Stopped');
    await client.timeTravel(flowId, 'beginning');
    const again = await runningChild(client, flowId);
    assert.equal(again.flowId, child.flowId);
    assert.notEqual(again.runId, child.runId);
    await wake('done');
    assert.equal(await client.result(ParentFlow, flowId), 'completed child done');
  });

  it('[K4] a SubFlow that an RPC started is attached again with the RPC', async () => {
    const { client, flowId } = await open({ parentClose: 'terminate' });
    const hired = fresh('hired');
    await client.rpc(ParentFlow, flowId).hire(hired);
    await eventually(async () => assert.deepEqual(await stepStates(client, hired), { 'Work-1': 'waiting' }));
    const { runId } = await client.describe(hired);
    await client.timeTravel(flowId, 'beginning');
    await eventually(async () => {
      const children = (await client.describe(flowId)).children.filter(({ status }) => status === 'running');
      assert.equal(children.length, 2);
      assert.equal(children.find((child) => child.flowId === hired)?.runId, runId);
    });
    await client.stop(flowId, 'cancel', 'over');
    await eventually(async () => assert.equal((await client.describe(hired)).status, 'terminated'));
  });

  it('[K4] [U1] a parent waits for the run that a time travel of its SubFlow begins', async () => {
    const { client, flowId, child, wake } = await open({ parentClose: 'terminate' });
    await client.timeTravel(child.flowId, 'beginning');
    await eventually(async () => assert.notEqual((await client.describe(child.flowId)).runId, child.runId));
    assert.equal((await client.describe(flowId)).status, 'running');
    await wake('done');
    assert.equal(await client.result(ParentFlow, flowId), 'completed child done');
  });

  it('[K4] [U3] a parent stops the run that a time travel of its SubFlow began', async () => {
    const { client, flowId, child } = await open({ parentClose: 'cancel' });
    await client.timeTravel(child.flowId, 'beginning');
    await client.stop(flowId, 'terminate', 'over');
    await eventually(async () => assert.equal((await client.describe(child.flowId)).status, 'cancelled'));
  });
});
