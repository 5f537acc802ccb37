import assert from 'node:assert/strict';
import { Attribute, DurableAttribute, Flow, Lock, Query, Rpc, RpcContext } from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { pastDeadline } from '../support/past-deadline';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute()
class Count extends DurableAttribute<number> {}

@Attribute(Lock.exclusive)
class Balance extends DurableAttribute<number> {}

@Flow()
class CountFlow {
  constructor(
    private readonly count: Count,
    private readonly balance: Balance,
  ) {}

  @Rpc({ deadline: '20s' })
  async add(ctx: RpcContext) {
    log.add(ctx.flowId, 'add');
    ctx.signal.addEventListener('abort', () => log.add(ctx.flowId, 'aborted'));
    await gate.pass(`${ctx.flowId} ${log.count(ctx.flowId, 'add')}`);
    this.count.set((this.count.get() ?? 0) + 1);
    return this.count.get();
  }

  @Rpc({ deadline: '20s', transactional: true })
  async addAlone(ctx: RpcContext) {
    return this.add(ctx);
  }

  @Rpc({ locks: [Balance] })
  addLocked(_name: string) {
    this.balance.set((this.balance.get() ?? 0) + 1);
    return this.balance.get()!;
  }

  @Query({ deadline: '5s' })
  value() {
    return this.count.get();
  }
}

describeOnEveryStack('Deadlines of RPCs', [CountFlow], (stack) => {
  // In processes of their own workers always look for their work.
  const kinds = stack.isCluster ? [false] : [true, false];

  for (const standing of kinds) {
    const title = standing ? 'a worker that is given its work' : 'a worker that looks for its work';

    it(`[R8] with no worker a call fails at its deadline, leaves nothing, and works when one comes: ${title}`, async () => {
      await using system = await stack.processes([CountFlow]);
      const flowId = fresh('deadline');
      await system.client.start(CountFlow, flowId);
      const rpc = system.client.rpc(CountFlow, flowId);
      const add = refuses(rpc.add(), 'NO_WORKER', /No worker took add/);
      const value = refuses(rpc.value(), 'NO_WORKER');
      const soon = refuses(system.client.rpc(CountFlow, flowId, { deadline: '2s' }).add(), 'NO_WORKER');
      await system.client.describe(flowId);
      await pastDeadline(system, 2_000);
      await soon;
      await pastDeadline(system, 3_000);
      await value;
      await pastDeadline(system, 15_000);
      await add;
      assert.deepEqual(await eventKinds(system.client, flowId), ['FlowStarted']);
      const later = rpc.add();
      await system.openWorker({ standing });
      gate.open(`${flowId} 1`);
      assert.equal(await later, 1);
    });

    it(`[R8] a handler that outlasts the deadline is aborted, and what it did counts no more: ${title}`, async () => {
      await using system = await stack.processes([CountFlow]);
      await system.openWorker({ standing });
      const flowId = fresh('deadline');
      await system.client.start(CountFlow, flowId);
      const rpc = system.client.rpc(CountFlow, flowId);
      const refused = refuses(rpc.add(), 'DEADLINE_EXCEEDED', /did not end/);
      await eventually(() => gate.arrived(`${flowId} 1`) === 1);
      await pastDeadline(system, 20_000);
      await refused;
      await eventually(() => log.of(flowId).includes('aborted'));
      gate.open(`${flowId} 1`);
      gate.open(`${flowId} 2`);
      assert.equal(await rpc.value(), undefined);
      assert.equal(await rpc.add(), 1);
    });

    it(`[R6] the call of a worker that is lost is given to another, and applied once: ${title}`, async () => {
      await using system = await stack.processes([CountFlow]);
      const first = await system.openWorker({ standing });
      const flowId = fresh('deadline');
      await system.client.start(CountFlow, flowId);
      const answer = system.client.rpc(CountFlow, flowId, { deadline: '60s' }).add();
      await eventually(() => gate.arrived(`${flowId} 1`) === 1);
      await first.kill();
      await system.openWorker({ standing });
      await eventually(async () => {
        await system.advance(1_000);
        assert.equal(gate.arrived(`${flowId} 2`), 1);
      });
      gate.open(`${flowId} 1`);
      gate.open(`${flowId} 2`);
      assert.equal(await answer, 1);
      assert.equal(await system.client.rpc(CountFlow, flowId).value(), 1);
      assert.equal(log.count(flowId, 'add'), 2);
    });
  }

  for (const standing of kinds) {
    const title = standing ? 'a worker that is given its work' : 'a worker that looks for its work';

    it(`[R6] [R7] a transactional call of a worker that is lost is given to another, with a window of its own: ${title}`, async () => {
      await using system = await stack.processes([CountFlow]);
      const first = await system.openWorker({ standing });
      const flowId = fresh('transaction');
      await system.client.start(CountFlow, flowId);
      const rpc = system.client.rpc(CountFlow, flowId);
      const alone = rpc.addAlone();
      await eventually(() => gate.arrived(`${flowId} 1`) === 1);
      await system.advance(2_250);
      await first.kill();
      await system.openWorker({ standing });
      await eventually(async () => {
        await system.advance(500);
        assert.equal(gate.arrived(`${flowId} 2`), 1);
      });
      // The first window would be over, the second is not.
      await system.advance(1_500);
      gate.open(`${flowId} 1`);
      gate.open(`${flowId} 2`);
      assert.equal(await alone, 1);
      assert.equal(await rpc.value(), 1);
      assert.equal(log.count(flowId, 'add'), 2);
    });

    it(`[L3] a granted call that no worker takes gives its locks to those who wait, after 5 s, and queues again: ${title}`, async () => {
      await using system = await stack.processes([CountFlow]);
      const flowId = fresh('idle');
      await system.client.start(CountFlow, flowId);
      const rpc = system.client.rpc(CountFlow, flowId, { deadline: '60s' });
      const order: string[] = [];
      const call = (name: string) => rpc.addLocked(name).then((n) => order.push(`${name} ${n}`));
      const lock = async () => (await system.client.describe(flowId)).locks[0]!;
      const first = call('first');
      await eventually(async () => assert.equal((await lock()).holders.length, 1));
      const holder = (await lock()).holders;
      await system.advance(20_000);
      assert.deepEqual((await lock()).holders, holder, 'nobody else wants it');
      const second = call('second');
      await eventually(async () => assert.equal((await lock()).waiting.length, 1));
      const waiting = (await lock()).waiting;
      await eventually(async () => {
        await system.advance(500);
        assert.deepEqual(await lock(), { attribute: 'Balance', key: undefined, holders: waiting, waiting: holder });
      });
      await system.openWorker({ standing });
      await Promise.all([first, second]);
      // Where the worker comes late, the lock has changed hands once more.
      assert.deepEqual(
        order.map((each) => each.split(' ')[1]),
        ['1', '2'],
      );
      assert.deepEqual((await system.client.describe(flowId)).locks, []);
    });
  }

  it('[L3] [R8] calls that take turns with a lock and find no worker say so at their deadline', async () => {
    await using system = await stack.processes([CountFlow]);
    const flowId = fresh('idle');
    await system.client.start(CountFlow, flowId);
    const rpc = system.client.rpc(CountFlow, flowId, { deadline: '20s' });
    const refused = [refuses(rpc.addLocked('a'), 'NO_WORKER'), refuses(rpc.addLocked('b'), 'NO_WORKER')];
    await eventually(async () => assert.equal((await system.client.describe(flowId)).locks[0]?.waiting.length, 1));
    await pastDeadline(system, 20_000);
    await Promise.all(refused);
  });

  for (const standing of kinds) {
    const title = standing ? 'a worker that is given its work' : 'a worker that looks for its work';

    it(`[X13] calls have slots of their own: what is above them has to wait: ${title}`, async () => {
      await using system = await stack.processes([CountFlow]);
      await system.openWorker({ standing, settings: { callSlots: 2 } });
      const flowIds = [fresh('slots'), fresh('slots'), fresh('slots')];
      for (const flowId of flowIds) await system.client.start(CountFlow, flowId);
      const calls = flowIds.map((flowId) => system.client.rpc(CountFlow, flowId).add());
      const arrived = () => flowIds.filter((flowId) => gate.arrived(`${flowId} 1`) === 1).length;
      await eventually(() => arrived() === 2);
      await system.quiet();
      assert.equal(arrived(), 2);
      for (const flowId of flowIds) gate.open(`${flowId} 1`);
      assert.deepEqual(await Promise.all(calls), [1, 1, 1]);
    });
  }
});
