import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  gracefulComplete,
  initially,
  Query,
  Rpc,
  RpcContext,
  Step,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, refuses, stepStates } from '../support/expect';
import { fresh } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

@Attribute()
class State extends DurableAttribute<string> {}

@Channel()
class Orders extends DurableChannel<string> {}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(
    private readonly state: State,
    private readonly orders: Orders,
  ) {}
  waitFor() {
    return until(this.orders.take(2));
  }
  execute() {
    this.state.set('done');
    return gracefulComplete('done');
  }
}

@Flow()
class StateFlow {
  static readonly start = WaitStep;
  constructor(
    private readonly state: State,
    private readonly orders: Orders,
  ) {}

  @Query()
  async current(prefix: string, ctx: RpcContext) {
    await Promise.resolve();
    return { state: prefix + this.state.get(), unread: this.orders.size, flowId: ctx.flowId };
  }

  @Query()
  writes(what: string, ctx: RpcContext) {
    if (what === 'attribute') this.state.set('by a query');
    if (what === 'delete') this.state.delete();
    if (what === 'publish') this.orders.publish('by a query');
    if (what === 'start') ctx.start(WaitStep);
    if (what === 'cancel') ctx.cancel(WaitStep);
    if (what === 'message') ctx.deleteMessage('m');
    return 'written';
  }

  @Query()
  broken(): string {
    throw new RangeError('out of range');
  }

  @Rpc()
  set(state: string) {
    this.state.set(state);
  }
}

const flows = [StateFlow];

describeOnEveryStack('Query', flows, (stack) => {
  const system = stack.shared({ flows });
  const open = async () => {
    const flowId = fresh('query');
    await system.client.start(StateFlow, flowId, undefined, { attributes: [initially(State, 'new')] });
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Wait-1': 'waiting' }));
    return { flowId, rpc: system.client.rpc(StateFlow, flowId) };
  };

  it('[R2] a Query reads the current state and adds no event, however often', async () => {
    const { flowId, rpc } = await open();
    const events = (await eventKinds(system.client, flowId)).length;
    const writes = system.stats.writes;
    for (let i = 0; i < 20; i++) {
      assert.deepEqual(await rpc.current('is '), { state: 'is new', unread: 0, flowId });
    }
    await Promise.all(Array.from({ length: 100 }, () => rpc.current('')));
    assert.equal((await eventKinds(system.client, flowId)).length, events);
    assert.equal(system.stats.writes, writes);
    await system.client.publish(StateFlow, flowId, Orders, 'one');
    await rpc.set('other');
    assert.deepEqual(await rpc.current(''), { state: 'other', unread: 1, flowId });
  });

  it('[R2] a Query works on a closed run, and on the same id again: it is not remembered', async () => {
    const { flowId } = await open();
    const query = () => system.client.rpc(StateFlow, flowId, { requestId: 'same' }).current('');
    assert.equal((await query()).state, 'new');
    for (const order of ['a', 'b']) await system.client.publish(StateFlow, flowId, Orders, order);
    await system.client.result(StateFlow, flowId);
    assert.equal((await query()).state, 'done');
    await refuses(system.client.rpc(StateFlow, flowId).set('x'), 'FLOW_NOT_ACTIVE', /completed/);
  });

  for (const what of ['attribute', 'delete', 'publish', 'start', 'cancel', 'message']) {
    it(`[R2] a write inside a Query is an error, and changes nothing: ${what}`, async () => {
      const { flowId, rpc } = await open();
      const before = await eventKinds(system.client, flowId);
      await refuses(rpc.writes(what), 'DEFINITION', /may only read/);
      assert.deepEqual(await eventKinds(system.client, flowId), before);
      assert.equal((await system.client.attributes(StateFlow, flowId)).get(State), 'new');
    });
  }

  it('[R5] what a Query throws reaches the caller', async () => {
    const { rpc } = await open();
    const error = await refuses(rpc.broken(), 'RPC_FAILED', /out of range/);
    assert.equal((error.cause as Error).name, 'RangeError');
  });

  it('[P4] a Query is answered after what it saw is durable', async () => {
    const { flowId, rpc } = await open();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reached = false;
    system.store.faults = {
      beforeWrite: () => {
        reached = true;
        return held;
      },
    };
    const published = system.client.publish(StateFlow, flowId, Orders, 'one');
    await eventually(() => reached);
    let answer: unknown;
    const query = rpc.current('').then((value) => {
      answer = value;
    });
    await system.quiet();
    assert.equal(answer, undefined);
    system.store.faults = {};
    release();
    await Promise.all([published, query]);
    assert.deepEqual(answer, { state: 'new', unread: 1, flowId });
  });

  it('[K2] a call of the client ends with its signal or its deadline, with a typed error', async () => {
    const flowId = fresh('query');
    const controller = new AbortController();
    const { flowId: other } = await open();
    const waiting = system.client.result(StateFlow, other, { signal: controller.signal });
    const ended = refuses(waiting, 'ABORTED', /no longer wanted/);
    controller.abort(new Error('no longer wanted'));
    assert.equal((await ended).cause, controller.signal.reason);
    await refuses(system.client.describe(other, { signal: controller.signal }), 'ABORTED');
    const late = refuses(system.client.result(StateFlow, other, { deadline: '3s' }), 'DEADLINE_EXCEEDED');
    await system.advance(3_500);
    const error = await late;
    assert.equal(error.kind, 'transient');
    assert.ok(error.fix.length > 0);
    await refuses(system.client.describe(flowId), 'FLOW_NOT_FOUND');
    await refuses(system.client.result(StateFlow, flowId), 'FLOW_NOT_FOUND');
    await refuses(system.client.describe(other, { deadline: -1 }), 'INVALID_DURATION');
  });

  it('[P7] [K2] what has no answer because the store is away is repeated with its id, and applied once', async () => {
    const { flowId, rpc } = await open();
    let failures = 3;
    system.store.faults = {
      afterWrite: () => {
        if (failures-- > 0) throw new Error('the store had a bad moment');
      },
    };
    const published = system.client.publish(StateFlow, flowId, Orders, 'once');
    const set = rpc.set('once');
    const all = Promise.all([published, set]).then(() => true);
    await eventually(async () => {
      await system.advance(1_000);
      // A store that is far away opens again in real time, the deadline of the calls is on the clock that is moved.
      return Promise.race([all, new Promise<false>((resolve) => setTimeout(resolve, 500, false))]);
    });
    system.store.faults = {};
    assert.deepEqual(await rpc.current(''), { state: 'once', unread: 1, flowId });
    const kinds = await eventKinds(system.client, flowId);
    assert.equal(kinds.filter((kind) => kind === 'RpcCompleted').length, 1);
    assert.equal(kinds.filter((kind) => kind === 'MessagePublished').length, 1);
  });
});

describeOnEveryStack('Reads without a worker', flows, (stack) => {
  it('[A5] Attributes of open and closed runs can be read, also when no worker was ever there', async () => {
    await using system = await stack.processes(flows);
    const flowId = fresh('query');
    await system.client.start(StateFlow, flowId, undefined, { attributes: [initially(State, 'new')] });
    const read = async () => (await system.client.attributes(StateFlow, flowId)).get(State);
    assert.equal(await read(), 'new');
    const worker = await system.openWorker();
    await system.client.rpc(StateFlow, flowId).set('set');
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Wait-1': 'waiting' }));
    await worker.close();
    assert.equal(await read(), 'set');
    for (const order of ['a', 'b']) await system.client.publish(StateFlow, flowId, Orders, order);
    // [X12] The Step waits in the queue, and nothing fails.
    await system.advance(3_600_000);
    assert.deepEqual(await stepStates(system.client, flowId), { 'Wait-1': 'ready' });
    const { runId } = await system.client.describe(flowId);
    await system.client.stop(flowId, 'cancel', 'enough');
    assert.equal(await read(), 'set');
    await system.client.start(StateFlow, flowId, undefined, { idReuse: 'ifClosed' });
    assert.equal(await read(), undefined);
    assert.equal((await system.client.attributes(StateFlow, flowId, { runId })).get(State), 'set');
  });
});
