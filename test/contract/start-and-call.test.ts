import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goTo,
  gracefulComplete,
  initially,
  Lock,
  Query,
  Rpc,
  RpcContext,
  RpcRejected,
  Step,
  type StepContext,
  until,
  Validate,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, refuses } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Gate, Log } from '../support/observers';
import { pastDeadline } from '../support/past-deadline';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();
const log = new Log<unknown>();

@Attribute(Lock.exclusive)
class Total extends DurableAttribute<number> {}

@Channel()
class Extras extends DurableChannel<string> {}

@Step({ name: 'Begin' })
class BeginStep {
  constructor(private readonly total: Total) {}
  execute(name: string, ctx: StepContext) {
    log.add(ctx.flowId, { name, total: this.total.get() });
    return goTo(OpenStep);
  }
}

@Step({ name: 'Open' })
class OpenStep {
  constructor(private readonly extras: Extras) {}
  waitFor() {
    return until(this.extras.take(2));
  }
  execute() {
    return gracefulComplete(this.extras.received());
  }
}

@Step({ name: 'Extra' })
class ExtraStep {
  execute(name: string, ctx: StepContext) {
    log.add(ctx.flowId, { extra: name });
    return deadEnd();
  }
}

@Flow()
class BasketFlow {
  static readonly start = BeginStep;
  static readonly steps = [OpenStep, ExtraStep];
  constructor(
    private readonly total: Total,
    private readonly extras: Extras,
  ) {}

  @Rpc({ locks: [Total], deadline: '20s' })
  async add(amount: number, ctx: RpcContext) {
    if (ctx.flowId.startsWith('gated')) await gate.pass(`${ctx.flowId} ${amount}`);
    if (amount === 13) throw new RangeError('unlucky');
    this.total.set((this.total.get() ?? 0) + amount);
    this.extras.publish(`extra ${amount}`);
    ctx.start(ExtraStep, `with ${amount}`);
    return { total: this.total.get(), runId: ctx.runId };
  }

  @Validate('add')
  protected check(amount: number) {
    if (amount > (this.total.get() ?? 0) + 100) throw new RpcRejected('That is too much.', { total: this.total.get() });
  }

  @Query()
  sum() {
    return this.total.get();
  }
}

const flows = [BasketFlow];

describeOnEveryStack('startAndCall and startAndPublish', flows, (stack) => {
  const system = stack.shared({ flows });
  const add = (flowId: string, amount: number, options = {}) =>
    system.client.startAndCall(BasketFlow, flowId, 'a basket', (rpc) => rpc.add(amount), options);

  it('[R10] starts and calls in one write, on the would-be first state', async () => {
    const own = await stack.open({ flows });
    own.store.keepBatches = true;
    const flowId = fresh('basket');
    const options = { attributes: [initially(Total, 5)] };
    const { total, runId } = await own.client.startAndCall(BasketFlow, flowId, 'a', (rpc) => rpc.add(10), options);
    assert.equal(total, 15);
    assert.equal((await own.client.describe(flowId)).runId, runId);
    const [written] = own.store.batches.map(eventsIn).filter((kinds) => kinds.length > 0);
    assert.deepEqual(written!.slice(0, 4), ['FlowStarted', 'StepScheduled', 'RpcCompleted', 'StepScheduled']);
    // The first Step comes after the RPC and sees what it wrote.
    await own.client.waitForStep(BasketFlow, flowId, BeginStep);
    await own.client.waitForStep(BasketFlow, flowId, ExtraStep);
    assert.ok(log.of(flowId).some((entry) => (entry as { total?: number }).total === 15));
    await own.crash();
    await own.client.publish(BasketFlow, flowId, Extras, 'last');
    assert.deepEqual(await own.client.result(BasketFlow, flowId), ['extra 10', 'last']);
  });

  it('[R10] calls a Flow that is running without starting it again', async () => {
    const flowId = fresh('basket');
    const first = await add(flowId, 1);
    assert.deepEqual(await add(flowId, 2), { total: 3, runId: first.runId });
    assert.equal((await eventKinds(system.client, flowId)).filter((kind) => kind === 'FlowStarted').length, 1);
  });

  for (const [what, amount, code] of [
    ['rejection', 101, 'RPC_REJECTED'],
    ['error', 13, 'RPC_FAILED'],
  ] as const) {
    it(`[R10] a ${what} creates nothing, and is told`, async () => {
      const own = await stack.open({ flows });
      const flowId = fresh('basket');
      const call = (n: number) =>
        own.client.startAndCall(BasketFlow, flowId, 'a', (rpc) => rpc.add(n), { requestId: 'r' });
      own.store.keepBatches = true;
      await refuses(call(amount), code);
      await refuses(own.client.describe(flowId), 'FLOW_NOT_FOUND');
      const written = own.store.batches.flatMap((batch) => [...batch.keys()]);
      assert.deepEqual(
        written.filter((key) => /^[firth]\//.test(key)),
        [],
      );
      await own.crash();
      await refuses(own.client.describe(flowId), 'FLOW_NOT_FOUND');
      assert.deepEqual(log.of(flowId), []);
      // The same id may run again, as nothing was left of it.
      assert.equal((await call(1)).total, 1);
    });
  }

  it('[R10] a Query may come with a start too', async () => {
    const flowId = fresh('basket');
    const options = { attributes: [initially(Total, 7)] };
    assert.equal(await system.client.startAndCall(BasketFlow, flowId, 'a', (rpc) => rpc.sum(), options), 7);
    assert.equal((await system.client.describe(flowId)).status, 'running');
    assert.equal((await eventKinds(system.client, flowId)).includes('RpcCompleted'), false);
  });

  it('[R10] others for that flowId wait meanwhile, and go on with what came of it', async () => {
    const flowId = fresh('gated');
    const first = refuses(add(flowId, 13), 'RPC_FAILED');
    await eventually(() => gate.arrived(`${flowId} 13`) === 1);
    const told: string[] = [];
    const second = add(flowId, 1);
    const third = add(flowId, 2);
    const started = refuses(system.client.start(BasketFlow, flowId, 'b'), 'FLOW_ALREADY_EXISTS');
    const published = system.client.publish(BasketFlow, flowId, Extras, 'x').then(() => told.push('published'));
    for (const amount of [1, 2]) gate.open(`${flowId} ${amount}`);
    await system.quiet();
    assert.deepEqual([told, gate.arrived(`${flowId} 1`)], [[], 0]);
    await refuses(system.client.describe(flowId), 'FLOW_NOT_FOUND');
    gate.open(`${flowId} 13`);
    await first;
    const [{ runId }, { total, runId: same }] = await Promise.all([second, third]);
    assert.deepEqual([total, same], [3, runId]);
    await Promise.all([started, published]);
  });

  it('[R10] [I1] a repeat gets the first answer, also after a crash; many at a time start one run', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('basket');
    const call = () => own.client.startAndCall(BasketFlow, flowId, 'a', (rpc) => rpc.add(5), { requestId: 'r' });
    const answers = await Promise.all([call(), call(), call()]);
    await own.crash();
    answers.push(await call());
    assert.deepEqual(answers, Array(4).fill({ total: 5, runId: answers[0]!.runId }));
    await refuses(
      own.client.startAndCall(BasketFlow, flowId, 'a', (rpc) => rpc.add(6), { requestId: 'r' }),
      'ID_CONFLICT',
    );
    const other = fresh('basket');
    const many = Array.from({ length: 20 }, () => own.client.startAndCall(BasketFlow, other, 'a', (rpc) => rpc.add(1)));
    const totals = (await Promise.all(many)).map(({ total }) => total!).sort((a, b) => a - b);
    assert.deepEqual(
      totals,
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
  });

  it('[R10] [F4] the reuse policy says whether a closed flowId may be used again', async () => {
    const flowId = fresh('basket');
    const { runId } = await add(flowId, 1);
    await system.client.stop(flowId, 'cancel', 'enough');
    await refuses(add(flowId, 2), 'FLOW_ALREADY_EXISTS');
    const again = await add(flowId, 2, { idReuse: 'ifClosed' });
    assert.equal(again.total, 2);
    assert.notEqual(again.runId, runId);
    await refuses(
      system.client.startAndPublish(BasketFlow, fresh('b'), 'a', [{ channel: Other, value: 1 }]),
      'DEFINITION',
    );
  });

  it('[R10] startAndPublish starts and publishes in one write, or publishes', async () => {
    const flowId = fresh('basket');
    const publish = (requestId: string, ...values: string[]) =>
      system.client.startAndPublish(
        BasketFlow,
        flowId,
        'a',
        values.map((value) => ({ channel: Extras, value, messageId: value })),
        { requestId },
      );
    const first = await publish('one', 'm1');
    assert.equal(first.started, true);
    assert.deepEqual((await eventKinds(system.client, flowId)).slice(0, 3), [
      'FlowStarted',
      'StepScheduled',
      'MessagePublished',
    ]);
    // A message that is known is not stored again, a request that is known gets its answer.
    assert.deepEqual(await publish('two', 'm1', 'm2'), { runId: first.runId, started: false });
    assert.deepEqual(await publish('one', 'm1'), first);
    assert.deepEqual(await system.client.result(BasketFlow, flowId), ['m1', 'm2']);
  });
});

@Channel()
class Other extends DurableChannel<number> {}

describeOnEveryStack('startAndCall without a worker', flows, (stack) => {
  it('[R10] [R8] creates nothing, and those who waited go on', async () => {
    await using system = await stack.processes(flows);
    const flowId = fresh('basket');
    const called = refuses(
      system.client.startAndCall(BasketFlow, flowId, 'a', (rpc) => rpc.add(1)),
      'NO_WORKER',
    );
    await refuses(system.client.describe(flowId), 'FLOW_NOT_FOUND');
    const started = system.client.start(BasketFlow, flowId, 'b');
    await pastDeadline(system, 20_000);
    await called;
    await started;
    assert.deepEqual((await eventKinds(system.client, flowId)).slice(0, 2), ['FlowStarted', 'StepScheduled']);
  });

  // How many Flows stay in memory is set for one process only.
  if (!stack.isCluster) {
    it('[R10] [R6] a call that is open stays in memory while idle Flows leave it', async () => {
      await using system = await stack.processes(flows, { idleFlowsInMemory: 1 });
      await system.openWorker();
      const [flowId, running] = [fresh('gated'), fresh('gated')];
      await system.client.start(BasketFlow, running, 'a');
      await system.client.waitForStep(BasketFlow, running, BeginStep);
      const calls = [
        system.client.startAndCall(BasketFlow, flowId, 'a', (rpc) => rpc.add(1)),
        system.client.rpc(BasketFlow, running).add(1),
      ];
      await eventually(() => gate.arrived(`${flowId} 1`) === 1 && gate.arrived(`${running} 1`) === 1);
      for (let i = 0; i < 10; i++) await system.client.start(BasketFlow, fresh('idle'), 'a', { startDelay: '1d' });
      gate.open(`${flowId} 1`);
      gate.open(`${running} 1`);
      assert.deepEqual(
        (await Promise.all(calls)).map(({ total }) => total),
        [1, 1],
      );
    });
  }
});
