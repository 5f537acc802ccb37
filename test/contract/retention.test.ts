import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  initially,
  Step,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { refuses, stepStates } from '../support/expect';
import { fresh } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const hour = 3_600_000;

@Attribute()
class Data extends DurableAttribute<string> {}

@Channel()
class Messages extends DurableChannel<string> {}

@Step({ name: 'Take' })
class TakeStep {
  constructor(
    private readonly messages: Messages,
    private readonly data: Data,
  ) {}
  waitFor() {
    return until(this.messages.take(1));
  }
  execute() {
    const [message] = this.messages.received();
    this.data.set(message!);
    if (message === 'end') return gracefulComplete('the end');
    return message === 'continue' ? continueAsNew(KeepFlow) : goTo(TakeStep);
  }
}

@Flow({ retention: '1h' })
class KeepFlow {
  static readonly start = TakeStep;
}

@Flow()
class WeekFlow {
  static readonly start = TakeStep;
}

const flows = [KeepFlow, WeekFlow];

describeOnEveryStack('Retention', flows, (stack) => {
  const prefixes = ['f/', 'i/', 'r/', 't/', 'h/', 'w/', 'g/'];
  const left = async (system: System) => {
    const counts: Record<string, number> = {};
    for (const prefix of prefixes) {
      const count = await system.store.count(prefix);
      if (count > 0) counts[prefix] = count;
    }
    return counts;
  };
  const publish = (system: System, flowId: string, value: string, messageId?: string) =>
    system.client.publish(KeepFlow, flowId, Messages, value, messageId === undefined ? {} : { messageId });
  const collected = (system: System, check: () => Promise<void>) =>
    eventually(async () => {
      await system.advance(31_000);
      await check();
    });

  it('[N5] a closed run is there until its retention is over, and nothing of it after that', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('keep');
    // Enough to need records of its own, besides the head.
    const attributes = [initially(Data, 'x'.repeat(100_000))];
    await system.client.start(KeepFlow, flowId, undefined, { attributes, requestId: 'start' });
    const messages = Array.from({ length: 100 }, (_, i) => ({ value: 'y'.repeat(2_000), messageId: `m${i}` }));
    await system.client.publishAll(
      KeepFlow,
      flowId,
      [{ value: 'end' }, ...messages].map((message) => ({ channel: Messages, ...message })),
    );
    await system.client.result(KeepFlow, flowId);
    assert.ok((await left(system))['t/']! > 0);
    await system.advance(hour - 120_000);
    assert.equal(await system.client.result(KeepFlow, flowId), 'the end');
    await system.advance(150_000);
    await collected(system, () => refuses(system.client.describe(flowId), 'FLOW_NOT_FOUND').then(() => {}));
    await refuses(system.client.history(flowId), 'FLOW_NOT_FOUND');
    // [I1] Only the ids of its requests are still known, for a day.
    const ids = await left(system);
    assert.deepEqual(
      Object.keys(ids).filter((prefix) => !['f/', 'i/', 'g/'].includes(prefix)),
      [],
    );
    await refuses(publish(system, flowId, 'other', 'm1'), 'ID_CONFLICT');
    await publish(system, flowId, 'y'.repeat(2_000), 'm1');
    await system.crash();
    await publish(system, flowId, 'y'.repeat(2_000), 'm1');
    await system.advance(24 * hour);
    await collected(system, async () => assert.deepEqual(await left(system), {}));
    await refuses(system.client.describe(flowId), 'FLOW_NOT_FOUND');
    // The flowId is as good as new.
    await system.client.start(KeepFlow, flowId);
    await publish(system, flowId, 'end', 'm1');
    assert.equal(await system.client.result(KeepFlow, flowId), 'the end');
  });

  it('[N5] an open run stays, and so does the latest of a chain; those before it go', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('keep');
    const { runId } = await system.client.start(KeepFlow, flowId);
    await publish(system, flowId, 'continue');
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).runId, runId));
    await publish(system, flowId, 'kept');
    await system.client.waitForStep(KeepFlow, flowId, TakeStep, { number: 2 });
    assert.equal((await system.client.describe(flowId, { runId })).status, 'continuedAsNew');
    await system.advance(30 * hour);
    await collected(system, () => refuses(system.client.describe(flowId, { runId }), 'FLOW_NOT_FOUND').then(() => {}));
    await system.crash();
    assert.equal((await system.client.describe(flowId)).status, 'running');
    assert.equal((await system.client.attributes(KeepFlow, flowId)).get(Data), 'kept');
    await publish(system, flowId, 'end');
    assert.equal(await system.client.result(KeepFlow, flowId), 'the end');
  });

  it('[N5] a run that replaced it is left alone when the retention of the former ends', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('keep');
    const { runId } = await system.client.start(KeepFlow, flowId);
    await system.client.stop(flowId, 'cancel', 'enough');
    await system.client.start(KeepFlow, flowId, undefined, {
      idReuse: 'ifClosed',
      attributes: [initially(Data, 'new')],
    });
    await system.advance(2 * hour);
    await collected(system, () => refuses(system.client.describe(flowId, { runId }), 'FLOW_NOT_FOUND').then(() => {}));
    assert.equal((await system.client.attributes(KeepFlow, flowId)).get(Data), 'new');
    assert.deepEqual(await stepStates(system.client, flowId), { 'Take-1': 'waiting' });
  });

  it('[N5] [F9] 7 days is the default; a start may say otherwise, and so may a running Flow', async () => {
    const system = await stack.open({ flows });
    const [week, hours, changed] = [fresh('week'), fresh('week'), fresh('week')];
    await system.client.start(WeekFlow, week);
    await system.client.start(WeekFlow, hours, undefined, { retention: '2h' });
    await system.client.start(WeekFlow, changed);
    await system.client.updateConfig(changed, { retention: '3h' });
    for (const flowId of [week, hours, changed]) await system.client.stop(flowId, 'cancel', 'enough');
    const there = async () => {
      const found = await Promise.all(
        [week, hours, changed].map((flowId) =>
          system.client.describe(flowId).then(
            () => true,
            () => false,
          ),
        ),
      );
      return found.join();
    };
    await system.advance(2 * hour + 30_000);
    await collected(system, async () => assert.equal(await there(), 'true,false,true'));
    await system.advance(hour);
    await collected(system, async () => assert.equal(await there(), 'true,false,false'));
    await system.advance(6 * 24 * hour);
    assert.equal(await there(), 'true,false,false');
    await system.advance(24 * hour);
    await collected(system, async () => assert.equal(await there(), 'false,false,false'));
  });
});
