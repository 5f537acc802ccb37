import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  gracefulComplete,
  Rpc,
  Step,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { stepStates } from '../support/expect';
import { fresh, Gate } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

@Channel()
class Orders extends DurableChannel<string> {}

@Attribute()
class Note extends DurableAttribute<string> {}

@Step({ name: 'Collect' })
class CollectStep {
  constructor(private readonly orders: Orders) {}
  waitFor() {
    return until(this.orders.take(4));
  }
  execute() {
    return gracefulComplete(this.orders.received().join(' '));
  }
}

@Flow({ name: 'Collecting' })
class CollectFlow {
  static readonly start = CollectStep;
  constructor(
    private readonly note: Note,
    readonly orders: Orders,
  ) {}
  @Rpc() write(note: string) {
    this.note.set(note);
  }
}

describeOnEveryStore('timeTravel while its history is read', (stack) => {
  it('[K4] [P6] what clients send meanwhile goes to the new run, once', async () => {
    const system = await stack.open({ flows: [CollectFlow] });
    const { client } = system;
    const flowId = fresh('held');
    await client.start(CollectFlow, flowId);
    await eventually(async () => assert.deepEqual(await stepStates(client, flowId), { 'Collect-1': 'waiting' }));
    await client.publish(CollectFlow, flowId, Orders, 'before');
    const gate = new Gate();
    system.store.faults = { beforeScan: ({ from }) => (from.startsWith('h/') ? gate.pass('history') : undefined) };
    const travelling = client.timeTravel(flowId, 'beginning');
    await eventually(() => gate.arrived('history') > 0);
    await client.publish(CollectFlow, flowId, Orders, 'meanwhile', { messageId: 'm' });
    await client.rpc(CollectFlow, flowId).write('noted meanwhile');
    await client.publish(CollectFlow, flowId, Orders, 'meanwhile', { messageId: 'm' });
    await client.publish(CollectFlow, flowId, Orders, 'and more');
    const { runId } = await client.describe(flowId);
    gate.open('history');
    await travelling;
    assert.notEqual((await client.describe(flowId)).runId, runId);
    await client.publish(CollectFlow, flowId, Orders, 'after');
    assert.equal(await client.result(CollectFlow, flowId), 'before meanwhile and more after');
    assert.equal((await client.attributes(CollectFlow, flowId)).get(Note), 'noted meanwhile');
  });
});
