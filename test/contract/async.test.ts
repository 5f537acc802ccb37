import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute()
class Total extends DurableAttribute<number> {}

@Channel()
class Items extends DurableChannel<string> {}

@Step({ name: 'First', retry: { initialInterval: 1 } })
class FirstStep {
  constructor(private readonly total: Total) {}
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, `First ${ctx.attempt} sees ${this.total.get()}`);
    await gate.pass(`${ctx.flowId} First`);
    this.total.set((this.total.get() ?? 0) + 1);
    return goTo(SecondStep);
  }
}

/** Consumes a message, in work derived from a result that may be lost. */
@Step({ name: 'Second', retry: { initialInterval: 1 } })
class SecondStep {
  constructor(
    private readonly items: Items,
    private readonly total: Total,
  ) {}
  waitFor() {
    return until(this.items.take(1));
  }
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, `Second ${ctx.attempt} got ${this.items.received()} sees ${this.total.get()}`);
    await gate.pass(`${ctx.flowId} Second`);
    return gracefulComplete(this.items.received()[0]);
  }
}

@Flow({ durability: 'ASYNC' })
class LazyFlow {
  static readonly start = FirstStep;
  static readonly steps = [SecondStep];
  constructor(private readonly total: Total) {}
  @Rpc()
  set(total: number, _ctx: RpcContext) {
    this.total.set(total);
  }
}

const flows = [LazyFlow];

describeOnEveryStack('ASYNC', flows, (stack) => {
  /** A Flow whose first Step runs, with all that led to it saved, and writes that hang from here on. */
  const hanging = async (own: System) => {
    const flowId = fresh('lazy');
    await own.client.start(LazyFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} First`) === 1);
    await own.client.publish(LazyFlow, flowId, Items, 'item');
    await eventually(async () => assert.deepEqual((await eventKinds(own.client, flowId)).at(-1), 'MessagePublished'));
    const dam = fresh('dam');
    own.store.faults = { beforeWrite: () => gate.pass(dam) };
    return { flowId, dam };
  };
  const crash = async (own: System, dam: string, slots = 100) => {
    const crashing = own.crash({ emptied: true, slots });
    own.store.faults = {};
    gate.open(dam);
    await crashing;
  };

  it('[P3] [S6] work goes on before its writes are durable; a lost suffix runs again, with what it had consumed queued again', async () => {
    const own = await stack.open({ flows });
    const { flowId, dam } = await hanging(own);
    gate.open(`${flowId} First`);
    await eventually(() => gate.arrived(`${flowId} Second`) === 1);
    assert.deepEqual(log.of(flowId), ['First 1 sees undefined', 'Second 1 got item sees 1']);
    // Nothing of it is told before it is durable.
    let told = '';
    const asked = [
      own.client.describe(flowId).then(
        () => (told += 'described '),
        () => {},
      ),
      own.client.waitForStep(LazyFlow, flowId, FirstStep).then(
        () => (told += 'ended '),
        () => {},
      ),
    ];
    await own.quiet();
    assert.equal(told, '');
    await crash(own, dam, 0);
    await Promise.all(asked);
    assert.equal(told, '');
    // The result of First is lost, and with it everything that came of it; its start was saved, so that is attempt 2.
    assert.equal((await own.client.describe(flowId)).unread[0]!.messages, 1);
    assert.equal((await eventsOf(own.client, flowId, 'ExecuteCompleted')).length, 0);
    await own.crash({ slots: 100 });
    gate.open(`${flowId} Second`);
    assert.equal(await own.client.result(LazyFlow, flowId), 'item');
    assert.deepEqual(log.of(flowId).slice(2), ['First 2 sees undefined', 'Second 1 got item sees 1']);
    assert.equal((await eventsOf(own.client, flowId, 'WaitSatisfied')).length, 1);
    assert.deepEqual((await own.client.describe(flowId)).unread, []);
  });

  it('[P3] [X9] an attempt whose start was not saved runs again under the same number, on a new snapshot', async () => {
    await using own = await stack.processes(flows);
    await own.openWorker({ standing: false });
    const flowId = fresh('lazy');
    await own.client.start(LazyFlow, flowId, undefined, { startDelay: '1h' });
    const dam = fresh('dam');
    own.store.faults = { beforeWrite: () => gate.pass(dam) };
    own.clock.move(3_600_000);
    await eventually(() => gate.arrived(`${flowId} First`) === 1);
    const crashing = own.crashEngine();
    own.store.faults = {};
    gate.open(dam);
    await crashing;
    await eventually(() => gate.arrived(`${flowId} First`) === 2);
    assert.equal((await eventsOf(own.client, flowId, 'AttemptFailed')).length, 0);
    assert.deepEqual(log.of(flowId), ['First 1 sees undefined', 'First 1 sees undefined']);
    for (const name of ['First', 'Second']) gate.open(`${flowId} ${name}`);
    await own.client.publish(LazyFlow, flowId, Items, 'x');
    assert.equal(await own.client.result(LazyFlow, flowId), 'x');
  });

  it('[P3] what a client was told is no part of what is lost: it waits for the writes before it', async () => {
    const own = await stack.open({ flows });
    const { flowId, dam } = await hanging(own);
    gate.open(`${flowId} First`);
    await eventually(() => gate.arrived(`${flowId} Second`) === 1);
    let set = false;
    const setting = own.client
      .rpc(LazyFlow, flowId, { requestId: 'set' })
      .set(50)
      .then(
        () => {
          set = true;
        },
        () => {},
      );
    await own.quiet();
    assert.equal(set, false);
    await crash(own, dam);
    await setting;
    assert.equal(set, false);
    await own.client.rpc(LazyFlow, flowId, { requestId: 'set' }).set(50);
    gate.open(`${flowId} Second`);
    assert.equal(await own.client.result(LazyFlow, flowId), 'item');
    assert.equal((await eventsOf(own.client, flowId, 'RpcCompleted')).length, 1);
  });

  // In separate processes the way to the next method takes longer than a write waits for others.
  if (!stack.isCluster) {
    it('[P3] writes are grouped: a chain of many methods takes few of them', async () => {
      const own = await stack.open({ flows });
      const flowId = fresh('lazy');
      for (const name of ['First', 'Second']) gate.open(`${flowId} ${name}`);
      own.store.keepBatches = true;
      await own.client.startAndPublish(LazyFlow, flowId, undefined, [{ channel: Items, value: 'x' }]);
      await own.client.result(LazyFlow, flowId);
      const written = own.store.batches.map(eventsIn).filter((kinds) => kinds.length > 0);
      assert.ok(written.length < written.flat().length / 2, `${written.length} writes for ${written.flat()}`);
    });
  }
});
