import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  type Client,
  continueAsNew,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  initially,
  Rpc,
  Step,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { refuses, stepStates } from '../support/expect';
import { fresh } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

interface Place {
  readonly city: string;
  readonly visits: Map<string, number>;
}

@Attribute()
class Where extends DurableAttribute<Place> {}

@Attribute()
class Level extends DurableAttribute<number> {}

@Attribute()
class Stock extends DurableAttributeMap<number> {}

@Channel()
class Orders extends DurableChannel<number | 'end' | 'next'> {}

@Step({ name: 'Take' })
class TakeStep {
  constructor(
    private readonly orders: Orders,
    private readonly level: Level,
  ) {}
  waitFor() {
    return until(this.orders.take(1));
  }
  execute() {
    const [order] = this.orders.received();
    if (order === 'end') return gracefulComplete();
    if (order === 'next') return continueAsNew(PlaceFlow);
    if (order === -1) this.level.delete();
    else this.level.set(order!);
    return goTo(TakeStep);
  }
}

@Flow({ name: 'Place' })
class PlaceFlow {
  static readonly start = TakeStep;
  constructor(
    private readonly where: Where,
    private readonly stock: Stock,
    private readonly level: Level,
  ) {}

  @Rpc()
  move(city: string) {
    this.where.set({ city, visits: new Map([[city, 1]]) });
  }

  @Rpc()
  fill(key: string, amount: number) {
    this.stock.set(key, amount);
    this.level.set(amount);
  }
}

const flows = [PlaceFlow];

describeOnEveryStack('waitForAttribute', flows, (stack) => {
  const system = stack.shared({ flows });
  const open = async () => {
    const flowId = fresh('place');
    await system.client.start(PlaceFlow, flowId, undefined, { attributes: [initially(Level, 1)] });
    const order = (value: number | 'end' | 'next') => system.client.publish(PlaceFlow, flowId, Orders, value);
    return { flowId, order, rpc: system.client.rpc(PlaceFlow, flowId) };
  };
  const waitForAttribute: Client['waitForAttribute'] = (...args) => system.client.waitForAttribute(...args);
  /** Resolves when the engine has the read, and has found that it must wait. */
  const settled = async () => {
    for (let i = 0; i < 30; i++) await new Promise(setImmediate);
  };

  it('[K1] gives a value that is there already, and one that comes, by equality and by predicate', async () => {
    const { flowId, order, rpc } = await open();
    assert.equal(await waitForAttribute(PlaceFlow, flowId, Level, 1), 1);
    assert.equal(await waitForAttribute(PlaceFlow, flowId, Where, (value) => value === undefined), undefined);
    const five = waitForAttribute(PlaceFlow, flowId, Level, 5);
    const high = waitForAttribute(PlaceFlow, flowId, Level, (level) => level !== undefined && level > 3);
    const gone = waitForAttribute(PlaceFlow, flowId, Level, (level) => level === undefined);
    const there = waitForAttribute(PlaceFlow, flowId, Where, { city: 'Rome', visits: new Map([['Rome', 1]]) });
    const stock = waitForAttribute(PlaceFlow, flowId, Stock, 7, { key: 'eu' });
    await settled();
    await rpc.fill('us', 7);
    await rpc.fill('eu', 2);
    await order(4);
    assert.ok((await high)! > 3);
    await order(5);
    assert.equal(await five, 5);
    await rpc.move('Oslo');
    await rpc.move('Rome');
    assert.equal((await there).city, 'Rome');
    await rpc.fill('eu', 7);
    assert.equal(await stock, 7);
    await order(-1);
    assert.equal(await gone, undefined);
  });

  it('[K1] waits without asking again and again: what does not touch the Attribute costs no answer', async () => {
    const { flowId, rpc } = await open();
    let looked = 0;
    const waiting = waitForAttribute(PlaceFlow, flowId, Level, (level) => ++looked > 0 && level === 9);
    await settled();
    for (const city of ['a', 'b', 'c']) await rpc.move(city);
    await rpc.fill('x', 8);
    await eventually(() => looked === 2);
    await settled();
    assert.equal(looked, 2);
    await rpc.fill('x', 9);
    await waiting;
    assert.equal(looked, 3);
  });

  it('[K1] [P4] a value counts only when it is durable', async () => {
    const { flowId, order } = await open();
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Take-1': 'waiting' }));
    let told = false;
    const waiting = waitForAttribute(PlaceFlow, flowId, Level, 6).then(() => {
      told = true;
    });
    await settled();
    await order(2);
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Take-2': 'waiting' }));
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let writes = 0;
    // The message is saved; the result that sets the Attribute is held back.
    system.store.faults = { beforeWrite: () => (++writes > 1 ? held : undefined) };
    await order(6);
    await eventually(() => writes > 1);
    await settled();
    assert.equal(told, false);
    system.store.faults = {};
    release();
    await waiting;
  });

  it('[K1] [N4] follows continue-as-new, also from a run that is named, and ends with the chain', async () => {
    const { flowId, order } = await open();
    const { runId } = await system.client.describe(flowId);
    const latest = waitForAttribute(PlaceFlow, flowId, Level, 3);
    const named = waitForAttribute(PlaceFlow, flowId, Level, 3, { runId });
    const never = refuses(
      waitForAttribute(PlaceFlow, flowId, Level, 4, { runId }),
      'ATTRIBUTE_NOT_REACHED',
      /completed/,
    );
    await settled();
    await order('next');
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).runId, runId));
    await order(3);
    assert.deepEqual(await Promise.all([latest, named]), [3, 3]);
    const step = system.client.waitForStep(PlaceFlow, flowId, TakeStep, { number: 3, runId });
    await order('end');
    await Promise.all([never, step]);
    await refuses(waitForAttribute(PlaceFlow, flowId, Level, 9), 'ATTRIBUTE_NOT_REACHED');
    assert.equal(await waitForAttribute(PlaceFlow, flowId, Level, 3), 3);
    const fourth = system.client.waitForStep(PlaceFlow, flowId, TakeStep, { number: 4, runId });
    await refuses(fourth, 'STEP_NOT_FOUND');
  });

  it('[K2] ends with its deadline, over all it waits for, and with its signal', async () => {
    const { flowId, rpc } = await open();
    const late = refuses(waitForAttribute(PlaceFlow, flowId, Level, 99, { deadline: '20s' }), 'DEADLINE_EXCEEDED');
    await settled();
    await system.advance(15_000);
    await rpc.fill('x', 5);
    await settled();
    await system.advance(6_000);
    await late;
    const controller = new AbortController();
    const aborted = waitForAttribute(PlaceFlow, flowId, Level, 99, { signal: controller.signal });
    await settled();
    controller.abort(new Error('enough'));
    await refuses(aborted, 'ABORTED', /enough/);
    await refuses(waitForAttribute(PlaceFlow, fresh('nobody'), Level, 1), 'FLOW_NOT_FOUND');
    class Foreign extends DurableAttribute<number> {}
    await refuses(waitForAttribute(PlaceFlow, flowId, Foreign, 1), 'INVALID_ARGUMENT', /Foreign/);
    const thrown = waitForAttribute(PlaceFlow, flowId, Level, () => {
      throw new RangeError('mine');
    });
    await assert.rejects(thrown, RangeError);
  });
});

describeOnEveryStack('waitForAttribute without workers', flows, (stack) => {
  it('[K1] works with no worker there, and over a crash of the engine', async () => {
    const system = await stack.open({ flows, slots: 0 });
    const flowId = fresh('place');
    await system.client.start(PlaceFlow, flowId, undefined, { attributes: [initially(Level, 1)] });
    assert.equal(await system.client.waitForAttribute(PlaceFlow, flowId, Level, 1), 1);
    await system.crash({ slots: 5 });
    const level = system.client.waitForAttribute(PlaceFlow, flowId, Level, 2);
    await system.client.publish(PlaceFlow, flowId, Orders, 2);
    assert.equal(await level, 2);
  });
});
