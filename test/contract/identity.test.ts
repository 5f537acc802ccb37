import assert from 'node:assert/strict';
import { Channel, DurableChannel, Flow, gracefulComplete, Step, type StepContext, Timer, until } from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, refuses, stepStates } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const runs = new Log();
const hour = 3_600_000;

@Channel()
class Notes extends DurableChannel<{ readonly text: string }> {}

@Step({ name: 'Hold' })
class HoldStep {
  constructor(private readonly notes: Notes) {}
  waitFor(_input: { readonly n: number } | undefined, ctx: StepContext) {
    runs.add(ctx.flowId, ctx.runId);
    void this.notes;
    return until(Timer.after('3650d', 'hold'));
  }
  execute(_input: { readonly n: number } | undefined) {
    return gracefulComplete();
  }
}

@Flow()
class HoldFlow {
  static readonly start = HoldStep;
}

const flows = [HoldFlow];

describeOnEveryStack('Identity', flows, (stack) => {
  const system = stack.shared({ flows });

  const started = async () => {
    const flowId = fresh('identity');
    await system.client.start(HoldFlow, flowId, { n: 1 }, { requestId: 'start' });
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Hold-1': 'waiting' }));
    return flowId;
  };
  const publish = (flowId: string, messageId: string, text = messageId) =>
    system.client.publish(HoldFlow, flowId, Notes, { text }, { messageId });
  const messages = async (flowId: string) => (await eventsOf(system.client, flowId, 'MessagePublished')).length;

  it('[I1] a message id is stored once: one by one, at the same time, and within one batch', async () => {
    const flowId = await started();
    await publish(flowId, 'a');
    await publish(flowId, 'a');
    await Promise.all(Array.from({ length: 5 }, () => publish(flowId, 'b')));
    await system.client.publishAll(
      HoldFlow,
      flowId,
      ['a', 'c', 'c'].map((messageId) => ({ channel: Notes, value: { text: messageId }, messageId })),
    );
    assert.equal(await messages(flowId), 3);
  });

  it('[I1] a command is applied once however often it arrives, also after the engine was lost', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('identity');
    const first = await own.client.start(HoldFlow, flowId, undefined, { requestId: 'start' });
    await eventually(async () => assert.equal((await stepStates(own.client, flowId))['Hold-1'], 'waiting'));
    const repeat = async () => {
      assert.deepEqual(await own.client.start(HoldFlow, flowId, undefined, { requestId: 'start' }), first);
      await own.client.publish(HoldFlow, flowId, Notes, { text: 'x' }, { messageId: 'm' });
      await own.client.skipTimer(flowId, 'Hold-1', 'hold', { requestId: 'skip' });
      assert.deepEqual(await own.client.stop(flowId, 'cancel', 'x', { requestId: 'stop' }), { status: 'completed' });
    };
    await own.client.publish(HoldFlow, flowId, Notes, { text: 'x' }, { messageId: 'm' });
    await own.client.skipTimer(flowId, 'Hold-1', 'hold', { requestId: 'skip' });
    await own.client.result(HoldFlow, flowId);
    await repeat();
    const events = (await own.client.describe(flowId)).events;
    await own.crash();
    await repeat();
    assert.equal((await own.client.describe(flowId)).events, events);
  });

  it('[I1] ids are remembered over runs of the flowId', async () => {
    const flowId = await started();
    await publish(flowId, 'm');
    await system.client.start(HoldFlow, flowId, { n: 2 }, { requestId: 'second', idReuse: 'terminateRunning' });
    await publish(flowId, 'm');
    assert.equal(await messages(flowId), 0);
    const first = await system.client.start(HoldFlow, flowId, { n: 1 }, { requestId: 'start' });
    assert.notEqual(first.runId, (await system.client.describe(flowId)).runId);
  });

  it('[I1] ids are per flowId', async () => {
    const [one, other] = [await started(), await started()];
    await publish(one, 'same', 'one');
    await publish(other, 'same', 'other');
    assert.deepEqual([await messages(one), await messages(other)], [1, 1]);
  });

  it('[I1] ids are remembered for 24 h, and beyond it the last 1,000; memory does not grow with age', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('identity');
    const publishMany = (prefix: string, count: number) =>
      own.client.publishAll(
        HoldFlow,
        flowId,
        Array.from({ length: count }, (_, i) => ({
          channel: Notes,
          value: { text: `${prefix}${i}` },
          messageId: `${prefix}${i}`,
        })),
      );
    const unread = async () => (await own.client.describe(flowId)).unread[0]!.messages;
    await own.client.start(HoldFlow, flowId, undefined, { requestId: 'start' });
    await publishMany('old ', 1_500);
    await own.advance(23 * hour);
    await publishMany('old ', 1_500);
    assert.equal(await unread(), 1_500);
    const remembered = await own.store.count(`i/${flowId}`);
    await own.advance(2 * hour);
    await publishMany('new ', 500);
    // The last 1,000 are 500 new and 500 old ones, whatever their age.
    await own.client.publishAll(HoldFlow, flowId, [
      { channel: Notes, value: { text: 'old 1499' }, messageId: 'old 1499' },
      { channel: Notes, value: { text: 'old 1000' }, messageId: 'old 1000' },
    ]);
    assert.equal(await unread(), 2_000);
    assert.ok((await own.store.count(`i/${flowId}`)) < remembered, 'what is older was forgotten');
    for (let round = 0; round < 4; round++) {
      await own.advance(25 * hour);
      await publishMany(`round ${round} `, 1_200);
    }
    assert.ok((await own.store.count(`i/${flowId}`)) <= 1_300, 'as many as are remembered, and not more');
  });

  it('[I1] an id of our client that is older than what is remembered is refused, never applied', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('identity');
    await own.client.start(HoldFlow, flowId);
    // As our client makes them: they carry their time.
    const at = (time: number) =>
      `hf:${time
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`;
    const now = own.clock.now();
    const publish = (messageId: string) => own.client.publish(HoldFlow, flowId, Notes, { text: 'x' }, { messageId });
    await publish(at(now - 23 * hour));
    const error = await refuses(publish(at(now - 25 * hour)), 'REQUEST_EXPIRED', /25 h ago/);
    assert.equal(error.name, 'RequestExpiredError');
    await refuses(
      own.client.start(HoldFlow, fresh('identity'), undefined, { requestId: at(now - 25 * hour) }),
      'REQUEST_EXPIRED',
    );
    assert.equal((await own.client.describe(flowId)).unread[0]!.messages, 1);
    await own.advance(25 * hour);
    // A remembered one is answered, however old; what it was is not looked at.
    await publish(at(now - 23 * hour));
    assert.equal((await own.client.describe(flowId)).unread[0]!.messages, 1);
  });

  it('[I2] a known id is answered before anything else is looked at', async () => {
    const flowId = await started();
    await publish(flowId, 'm');
    const stopped = await system.client.stop(flowId, 'fail', 'why', { requestId: 'stop' });
    assert.deepEqual(stopped, { status: 'failed' });
    await publish(flowId, 'm');
    await refuses(publish(flowId, 'n'), 'FLOW_NOT_ACTIVE');
    assert.deepEqual(await system.client.stop(flowId, 'fail', 'why', { requestId: 'stop' }), stopped);
    await system.client.start(HoldFlow, flowId, { n: 1 }, { requestId: 'start' });
    assert.equal((await eventsOf(system.client, flowId, 'FlowStarted')).length, 1);
  });

  it('[I2] a known id with other content is an IdConflictError, and changes nothing', async () => {
    const flowId = await started();
    await publish(flowId, 'm');
    const before = await system.client.describe(flowId);
    const conflicts = [
      publish(flowId, 'm', 'other'),
      publish(flowId, 'start'),
      system.client.start(HoldFlow, flowId, { n: 2 }, { requestId: 'start' }),
      system.client.start(HoldFlow, flowId, { n: 1 }, { requestId: 'start', idReuse: 'ifClosed' }),
      system.client.start(HoldFlow, flowId, { n: 1 }, { requestId: 'm' }),
      system.client.stop(flowId, 'cancel', 'x', { requestId: 'start' }),
      system.client.skipTimer(flowId, 'Hold-1', 'hold', { requestId: 'm' }),
    ];
    for (const conflict of conflicts) {
      const error = await refuses(conflict, 'ID_CONFLICT');
      assert.equal(error.name, 'IdConflictError');
    }
    assert.deepEqual(await system.client.describe(flowId), before);
  });

  it('[I2] content is the same whatever was encoded in between', async () => {
    const flowId = fresh('identity');
    const start = () => system.client.start(HoldFlow, flowId, { n: 1 }, { requestId: 'r' });
    const first = await start();
    for (let i = 0; i < 40; i++) {
      const value = { text: `${i}`, [`field ${i}`]: { nested: i } };
      await system.client.publish(HoldFlow, flowId, Notes, value);
    }
    assert.deepEqual(await start(), first);
    assert.deepEqual(new Set(runs.of(flowId)), new Set([first.runId]));
  });
});
