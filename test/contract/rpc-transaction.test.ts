import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  type Client,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  Lock,
  Query,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();
const log = new Log();
let inside: { client: Client } | undefined;

@Attribute()
class Free extends DurableAttribute<number> {}

@Attribute(Lock.exclusive)
class Locked extends DurableAttribute<number> {}

@Channel()
class Wakes extends DurableChannel<string> {}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(private readonly wakes: Wakes) {}
  waitFor() {
    return until(this.wakes.take(1));
  }
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, `woken by ${this.wakes.received()}`);
    return deadEnd();
  }
}

/** Writes what the transactional call reads. */
@Step({ name: 'Write' })
class WriteStep {
  constructor(private readonly free: Free) {}
  async execute(value: number, ctx: StepContext) {
    log.add(ctx.flowId, 'write');
    await gate.pass(`${ctx.flowId} write`);
    this.free.set(value);
    return deadEnd();
  }
}

@Step({ name: 'Hold' })
class HoldStep {
  constructor(private readonly locked: Locked) {}
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'hold');
    await gate.pass(`${ctx.flowId} hold`);
    this.locked.set(1);
    return deadEnd();
  }
}

@Flow()
class LedgerFlow {
  static readonly steps = [WaitStep, WriteStep, HoldStep];
  constructor(
    private readonly free: Free,
    private readonly locked: Locked,
    private readonly wakes: Wakes,
  ) {}

  @Rpc()
  begin(ctx: RpcContext) {
    ctx.start(WaitStep);
    ctx.start(WriteStep, 5);
  }

  @Rpc()
  hold(ctx: RpcContext) {
    ctx.start(HoldStep);
  }

  @Rpc({ transactional: true, locks: [Locked] })
  async move(amount: number, ctx: RpcContext) {
    log.add(ctx.flowId, 'move');
    const before = this.free.get() ?? 0;
    const unread = this.wakes.size;
    ctx.signal.addEventListener('abort', () => log.add(ctx.flowId, 'aborted'));
    await gate.pass(`${ctx.flowId} move`);
    this.free.set(before + amount);
    return { before, unread, locked: this.locked.get(), later: this.wakes.size };
  }

  @Rpc()
  async slow(ctx: RpcContext) {
    ctx.signal.addEventListener('abort', () => log.add(ctx.flowId, 'aborted'));
    await gate.pass(`${ctx.flowId} slow`);
  }

  @Rpc()
  set(value: number) {
    this.free.set(value);
  }

  @Rpc({ transactional: true })
  async callItself(ctx: RpcContext) {
    const { client } = inside!;
    const refused = await client
      .rpc(LedgerFlow, ctx.flowId)
      .set(1)
      .catch((error) => error.code);
    await client.rpc(LedgerFlow, `${ctx.flowId}-other`).set(2);
    return refused;
  }

  @Query()
  value() {
    return this.free.get();
  }
}

const flows = [LedgerFlow];

describeOnEveryStack('Transactional RPCs', flows, (stack) => {
  const system = stack.shared({ flows });
  const open = async () => {
    const flowId = fresh('ledger');
    await system.client.start(LedgerFlow, flowId);
    const rpc = system.client.rpc(LedgerFlow, flowId);
    await rpc.begin();
    await eventually(async () => {
      const { steps } = await system.client.describe(flowId);
      assert.deepEqual(
        steps.map(({ state }) => state),
        ['waiting', 'running'],
      );
    });
    await eventually(() => gate.arrived(`${flowId} write`) === 1);
    return { flowId, rpc };
  };

  it('[R7] nothing else takes effect in the window: not a result, a call, a stop; publishes are saved and seen after', async () => {
    const { flowId, rpc } = await open();
    const moving = rpc.move(10);
    await eventually(() => gate.arrived(`${flowId} move`) === 1);
    gate.open(`${flowId} write`);
    await system.client.publish(LedgerFlow, flowId, Wakes, 'a message');
    const told: string[] = [];
    const setting = rpc.set(100).then(() => told.push('set'));
    const query = rpc.value().then((value) => told.push(`value ${value}`));
    await eventually(async () => (await eventsOf(system.client, flowId, 'MessagePublished')).length === 1);
    await system.quiet();
    assert.deepEqual(told, []);
    assert.equal((await system.client.attributes(LedgerFlow, flowId)).get(Free), undefined);
    assert.deepEqual((await eventKinds(system.client, flowId)).slice(-1), ['MessagePublished']);
    gate.open(`${flowId} move`);
    assert.deepEqual(await moving, { before: 0, unread: 0, locked: undefined, later: 0 });
    await setting;
    await query;
    await system.client.waitForStep(LedgerFlow, flowId, WaitStep);
    await system.client.waitForStep(LedgerFlow, flowId, WriteStep);
    const kinds = await eventKinds(system.client, flowId);
    const after = kinds.slice(kinds.lastIndexOf('MessagePublished') + 1);
    assert.equal(after[0], 'RpcCompleted');
    assert.ok(log.of(flowId).includes('woken by a message'));
  });

  it('[O3] [O2] a terminate ends its window at once; the call is refused, and its signal aborts', async () => {
    const { flowId, rpc } = await open();
    const moving = refuses(rpc.move(10), 'FLOW_NOT_ACTIVE', /terminated/);
    await eventually(() => gate.arrived(`${flowId} move`) === 1);
    const { status } = await system.client.stop(flowId, 'terminate', 'now');
    assert.equal(status, 'terminated');
    await moving;
    await eventually(() => log.of(flowId).includes('aborted'));
    gate.open(`${flowId} move`);
    gate.open(`${flowId} write`);
    assert.equal((await system.client.attributes(LedgerFlow, flowId)).get(Free), undefined);
  });

  it('[O2] the signal of a started RPC aborts when another run takes the place of its run', async () => {
    for (const replace of ['start', 'timeTravel'] as const) {
      const { flowId, rpc } = await open();
      const waiting = refuses(rpc.slow(), 'FLOW_NOT_ACTIVE', /before .*slow.* was answered/);
      await eventually(() => gate.arrived(`${flowId} slow`) === 1);
      if (replace === 'start')
        await system.client.start(LedgerFlow, flowId, undefined, { idReuse: 'terminateRunning' });
      else await system.client.timeTravel(flowId, 'beginning');
      await waiting;
      await eventually(() => log.of(flowId).includes('aborted'));
      gate.open(`${flowId} slow`);
      gate.open(`${flowId} write`);
    }
  });

  it('[R7] its locks come first, and the window begins with the handler', async () => {
    const { flowId, rpc } = await open();
    await rpc.hold();
    await eventually(() => gate.arrived(`${flowId} hold`) === 1);
    const moving = rpc.move(10);
    await eventually(async () => {
      const { locks } = await system.client.describe(flowId);
      assert.equal(locks.find(({ attribute }) => attribute === 'Locked')?.waiting.length, 1);
    });
    // There is no window yet: others go on.
    await rpc.set(100);
    gate.open(`${flowId} hold`);
    gate.open(`${flowId} move`);
    assert.deepEqual(await moving, { before: 100, unread: 0, locked: 1, later: 0 });
    gate.open(`${flowId} write`);
  });

  it('[R7] the window lasts 5 s at most: the call fails, what it wrote counts no more, and the Flow goes on', async () => {
    const { flowId, rpc } = await open();
    const refused = refuses(rpc.move(10), 'DEADLINE_EXCEEDED', /move did not end/);
    await eventually(() => gate.arrived(`${flowId} move`) === 1);
    const setting = rpc.set(100);
    await system.client.publish(LedgerFlow, flowId, Wakes, 'meanwhile');
    gate.open(`${flowId} write`);
    // A sign of life of the worker in between.
    for (let ms = 0; ms < 5_100; ms += 300) await system.advance(300);
    await refused;
    await setting;
    await system.client.waitForStep(LedgerFlow, flowId, WaitStep);
    await system.client.waitForStep(LedgerFlow, flowId, WriteStep);
    gate.open(`${flowId} move`);
    assert.deepEqual((await rpc.move(1)).unread, 0);
    const { locks } = await system.client.describe(flowId);
    assert.deepEqual(locks, []);
    assert.equal(
      (await eventsOf(system.client, flowId, 'RpcCompleted')).filter(({ fields }) => fields.rpc === 'move').length,
      1,
    );
  });

  it('[R7] two transactional calls come one after the other: no update is lost', async () => {
    const { flowId, rpc } = await open();
    gate.open(`${flowId} move`);
    const moves = await Promise.all(Array.from({ length: 10 }, () => rpc.move(1)));
    assert.deepEqual(moves.map(({ before }) => before).sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    gate.open(`${flowId} write`);
  });

  // The handler uses the client of the test, so both have to be in one process.
  if (!stack.isCluster) {
    it('[R7] a call from inside to the same Flow is a usage error, to another it is not', async () => {
      const { flowId, rpc } = await open();
      await system.client.start(LedgerFlow, `${flowId}-other`);
      inside = system;
      assert.equal(await rpc.callItself(), 'INVALID_ARGUMENT');
      assert.equal(await system.client.rpc(LedgerFlow, `${flowId}-other`).value(), 2);
      gate.open(`${flowId} write`);
    });
  }

  it('[R7] [R6] engine and worker lost in the window: nothing of it is left, and what was published meanwhile is there', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('ledger');
    await own.client.start(LedgerFlow, flowId);
    await own.client.rpc(LedgerFlow, flowId).begin();
    await eventually(() => gate.arrived(`${flowId} write`) === 1);
    const lost = own.client
      .rpc(LedgerFlow, flowId, { requestId: 'move' })
      .move(10)
      .catch((error) => error.code);
    await eventually(() => gate.arrived(`${flowId} move`) === 1);
    await own.client.publish(LedgerFlow, flowId, Wakes, 'meanwhile');
    await own.crash();
    assert.equal(await lost, 'CLOSED');
    await own.client.waitForStep(LedgerFlow, flowId, WaitStep);
    assert.deepEqual(
      log.of(flowId).filter((entry) => entry.startsWith('woken')),
      ['woken by meanwhile'],
    );
    gate.open(`${flowId} move`);
    const again = await own.client.rpc(LedgerFlow, flowId, { requestId: 'move' }).move(10);
    assert.equal(again.before, 0);
    assert.equal(await own.client.rpc(LedgerFlow, flowId).value(), 10);
    gate.open(`${flowId} write`);
  });
});
