import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, failureOf, refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const log = new Log();
const gate = new Gate();

@Attribute()
class Total extends DurableAttribute<number> {}

@Attribute()
class Big extends DurableAttribute<string> {}

@Channel()
class Amounts extends DurableChannel<number> {}

async function passGate(ctx: StepContext, name: string): Promise<void> {
  log.add(ctx.flowId, name);
  if (ctx.flowId.startsWith('gated')) await gate.pass(`${ctx.flowId} ${name}`);
}

@Step({ name: 'One', retry: { initialInterval: 1 } })
class OneStep {
  async execute(_input: undefined, ctx: StepContext) {
    await passGate(ctx, 'One');
    return goTo(TwoStep);
  }
}

@Step({ name: 'Two', durability: 'SYNC', retry: { initialInterval: 1 } })
class TwoStep {
  async execute(_input: undefined, ctx: StepContext) {
    await passGate(ctx, 'Two');
    return goTo(ThreeStep);
  }
}

@Step({ name: 'Three', execute: { durability: 'ASYNC' }, retry: { initialInterval: 1 } })
class ThreeStep {
  async execute(_input: undefined, ctx: StepContext) {
    await passGate(ctx, 'Three');
    return gracefulComplete('done');
  }
}

@Flow()
class DefaultFlow {
  static readonly start = OneStep;
  static readonly steps = [TwoStep, ThreeStep];
}

@Flow({ durability: 'ASYNC' })
class AsyncFlow {
  static readonly start = OneStep;
  static readonly steps = [TwoStep, ThreeStep];
}

/** Takes one amount after the other and adds it up. A crash may meet a call that is on its way to a worker. */
@Step({ name: 'Add', retry: { initialInterval: 1 }, heartbeatTimeout: '5s' })
class AddStep {
  constructor(
    private readonly total: Total,
    private readonly amounts: Amounts,
  ) {}
  waitFor(_left: number) {
    return until(this.amounts.take(1));
  }
  execute(left: number, ctx: StepContext) {
    const [amount] = this.amounts.received();
    log.add(ctx.flowId, `${amount}`);
    this.total.set((this.total.get() ?? 0) + amount!);
    return left === 1 ? gracefulComplete(this.total.get()) : goTo(AddStep, left - 1);
  }
}

@Flow()
class SumFlow {
  static readonly start = AddStep;
}

@Flow({ durability: 'ASYNC' })
class AsyncSumFlow {
  static readonly start = AddStep;
}

@Step({ name: 'Excess' })
class ExcessStep {
  constructor(
    private readonly big: Big,
    private readonly amounts: Amounts,
  ) {}
  execute(what: 'movements' | 'publishes' | 'payload' | 'limit') {
    this.amounts.publish(1);
    if (what === 'movements') return goToMany(Array.from({ length: 10_001 }, () => to(EndStep)));
    if (what === 'publishes') for (let i = 0; i < 10_000; i++) this.amounts.publish(i);
    if (what === 'payload') this.big.set('x'.repeat(4 * 1024 * 1024));
    if (what === 'limit') this.big.set('x'.repeat(4 * 1024 * 1024 - 100));
    return deadEnd();
  }
}

@Step({ name: 'End' })
class EndStep {
  execute() {
    return deadEnd();
  }
}

@Flow()
class ExcessFlow {
  static readonly start = ExcessStep;
  static readonly steps = [EndStep];
}

const flows = [DefaultFlow, AsyncFlow, SumFlow, AsyncSumFlow, ExcessFlow];

/** Holds all writes back until they are let go. */
class Dam {
  private readonly gate = new Gate();
  private readonly name = fresh('dam');
  /** Writes that were let through before the dam shut. */
  constructor(
    private readonly system: System,
    free = 0,
  ) {
    let left = free;
    system.store.faults = { beforeWrite: () => (left-- > 0 ? undefined : this.gate.pass(this.name)) };
  }

  get reached(): boolean {
    return this.gate.arrived(this.name) > 0;
  }

  open(): void {
    this.system.store.faults = {};
    this.gate.open(this.name);
  }
}

describeOnEveryStack('Durability', flows, (stack) => {
  const system = stack.shared({ flows });
  const modes = async (flowId: string) =>
    (await eventsOf(system.client, flowId, 'AttemptStarted')).map(({ fields }) => fields.durability);

  it('[P1] a method’s durability goes before the Flow’s, and SYNC is the default', async () => {
    const [byDefault, byFlow, byStart] = [fresh('p1'), fresh('p1'), fresh('p1')];
    await system.client.start(DefaultFlow, byDefault);
    await system.client.start(AsyncFlow, byFlow);
    await system.client.start(DefaultFlow, byStart, undefined, { durability: 'ASYNC' });
    for (const [flow, flowId] of [
      [DefaultFlow, byDefault],
      [AsyncFlow, byFlow],
      [DefaultFlow, byStart],
    ] as const) {
      assert.equal(await system.client.result(flow, flowId), 'done');
    }
    assert.deepEqual(await modes(byDefault), ['SYNC', 'SYNC', 'ASYNC']);
    assert.deepEqual(await modes(byFlow), ['ASYNC', 'SYNC', 'ASYNC']);
    assert.deepEqual(await modes(byStart), ['ASYNC', 'SYNC', 'ASYNC']);
  });

  it('[P2] SYNC: no worker gets the task before the start of the attempt is durable', async () => {
    const flowId = fresh('gated');
    const dam = new Dam(system);
    const started = system.client.start(DefaultFlow, flowId);
    await eventually(() => dam.reached);
    await system.quiet();
    assert.deepEqual(log.of(flowId), []);
    dam.open();
    await started;
    await eventually(() => gate.arrived(`${flowId} One`) === 1);
    assert.deepEqual((await eventKinds(system.client, flowId)).slice(-1), ['AttemptStarted']);
    gate.open(`${flowId} One`);
    for (const name of ['Two', 'Three']) gate.open(`${flowId} ${name}`);
    await system.client.result(DefaultFlow, flowId);
  });

  it('[P2] SYNC: the Flow goes on only when the result is durable', async () => {
    const flowId = fresh('gated');
    await system.client.start(DefaultFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} One`) === 1);
    const dam = new Dam(system);
    gate.open(`${flowId} One`);
    await eventually(() => dam.reached);
    await system.quiet();
    assert.deepEqual(log.of(flowId), ['One']);
    dam.open();
    await eventually(() => gate.arrived(`${flowId} Two`) === 1);
    for (const name of ['Two', 'Three']) gate.open(`${flowId} ${name}`);
    await system.client.result(DefaultFlow, flowId);
  });

  it('[P2] SYNC: ASYNC work that follows a SYNC result waits for that to be durable, too', async () => {
    const flowId = fresh('gated');
    await system.client.start(AsyncFlow, flowId);
    gate.open(`${flowId} One`);
    await eventually(() => gate.arrived(`${flowId} Two`) === 1);
    const dam = new Dam(system);
    gate.open(`${flowId} Two`);
    await eventually(() => dam.reached);
    await system.quiet();
    assert.deepEqual(log.of(flowId), ['One', 'Two']);
    dam.open();
    gate.open(`${flowId} Three`);
    await system.client.result(AsyncFlow, flowId);
  });

  it('[P2] a SYNC start is never durable before the ASYNC results that led to it', async () => {
    const flowId = fresh('gated');
    await system.client.start(AsyncFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} One`) === 1);
    const dam = new Dam(system);
    gate.open(`${flowId} One`);
    await eventually(() => dam.reached);
    await system.quiet();
    assert.deepEqual(log.of(flowId), ['One']);
    dam.open();
    for (const name of ['Two', 'Three']) gate.open(`${flowId} ${name}`);
    await system.client.result(AsyncFlow, flowId);
  });

  it('[P4] an ASYNC hand-out goes before its write, and nothing else does', async () => {
    const flowId = fresh('gated');
    await system.client.start(AsyncFlow, flowId);
    for (const name of ['One', 'Two']) gate.open(`${flowId} ${name}`);
    await eventually(() => gate.arrived(`${flowId} Three`) === 1);
    const dam = new Dam(system);
    gate.open(`${flowId} Three`);
    let answered = '';
    const answers = [
      system.client.result(AsyncFlow, flowId).then(() => (answered += 'result ')),
      system.client.waitForStep(AsyncFlow, flowId, ThreeStep).then(() => (answered += 'waitForStep ')),
    ];
    await eventually(() => dam.reached);
    await system.quiet();
    assert.equal(answered, '');
    dam.open();
    await Promise.all(answers);
    const fast = fresh('p4');
    const second = new Dam(system);
    const start = system.client.start(AsyncFlow, fast).then(() => (answered = 'started'));
    // The first Step has run although not even the start of its Flow is durable, and nobody was told anything.
    await eventually(() => log.of(fast).length === 1 && second.reached);
    await system.quiet();
    assert.notEqual(answered, 'started');
    assert.deepEqual(log.of(fast), ['One']);
    second.open();
    await start;
    assert.equal(await system.client.result(AsyncFlow, fast), 'done');
  });

  it('[P4] a client is told nothing before everything it saw is durable, be it an answer, a read or a refusal', async () => {
    const [flowId, other] = [fresh('p4'), fresh('p4')];
    const told = new Log();
    const tell = (name: string) => () => told.add(flowId, name);
    const { client } = system;
    await client.start(SumFlow, other, 9);
    const dam = new Dam(system);
    const calls = [
      client.start(SumFlow, flowId, 3).then(tell('started')),
      client.publish(SumFlow, flowId, Amounts, 1).then(tell('published')),
      client.start(SumFlow, flowId, 3).catch(tell('refused because it is running')),
      client.describe(flowId).then(tell('described')),
      client.attributes(SumFlow, flowId).then(tell('read')),
      client.history(flowId).then(tell('history')),
      client.stop(other, 'cancel', 'x').then(tell('stopped')),
      client.publish(SumFlow, other, Amounts, 1).catch(tell('refused because it is stopped')),
      client.result(SumFlow, other).catch(tell('failed')),
    ];
    await eventually(() => dam.reached);
    await system.quiet();
    assert.deepEqual(told.of(flowId), []);
    dam.open();
    await Promise.all(calls);
    assert.equal(told.of(flowId).length, calls.length);
  });

  it('[P4] what a client was told is there after a crash, in both modes', async () => {
    const own = await stack.open({ flows });
    for (const flow of [SumFlow, AsyncSumFlow]) {
      const flowId = fresh('p4');
      await own.client.start(flow, flowId, 3);
      await own.crash();
      await own.client.publish(flow, flowId, Amounts, 1);
      await own.client.waitForStep(flow, flowId, AddStep);
      await own.crash();
      assert.equal((await own.client.attributes(flow, flowId)).get(Total), 1);
      for (const amount of [2, 3]) await own.client.publish(flow, flowId, Amounts, amount);
      await own.crash();
      assert.equal(await own.client.result(flow, flowId), 6);
      await own.crash();
      assert.equal(await own.client.result(flow, flowId), 6);
    }
  });

  it('[P8] what was acknowledged is in the store: it needs nothing of the process that wrote it', async () => {
    const own = await stack.open({ flows, slots: 0 });
    const flowId = fresh('p8');
    const { runId } = await own.client.start(SumFlow, flowId, 2);
    await own.client.publish(SumFlow, flowId, Amounts, 7);
    const before = [await own.client.describe(flowId), await own.client.history(flowId)];
    await own.crash();
    assert.deepEqual([await own.client.describe(flowId), await own.client.history(flowId)], before);
    assert.equal((await own.client.describe(flowId)).runId, runId);
  });

  for (const [what, kind] of [
    ['movements', 'LIMIT_EXCEEDED'],
    ['publishes', 'LIMIT_EXCEEDED'],
    ['payload', 'PAYLOAD_TOO_LARGE'],
  ] as const) {
    it(`[P9] a result above the limit of ${what} is refused whole`, async () => {
      const flowId = fresh('p9');
      await system.client.start(ExcessFlow, flowId, what);
      const error = await failureOf(system.client, ExcessFlow, flowId);
      assert.equal(error.failKind, 'definition');
      assert.equal((error.cause as { code?: string }).code, kind);
      const { unread, scheduled } = await system.client.describe(flowId);
      assert.deepEqual([unread, scheduled], [[], { Excess: 1 }]);
      assert.equal((await system.client.attributes(ExcessFlow, flowId)).get(Big), undefined);
    });
  }

  it('[P9] a value just below 4 MiB is kept', async () => {
    const flowId = fresh('p9');
    await system.client.start(ExcessFlow, flowId, 'limit');
    await system.client.waitForStep(ExcessFlow, flowId, ExcessStep);
    assert.equal((await system.client.attributes(ExcessFlow, flowId)).get(Big)!.length, 4 * 1024 * 1024 - 100);
  });

  it('[P9] a command above a limit is refused whole, before anything is saved', async () => {
    const flowId = fresh('p9');
    const large = 'x'.repeat(4 * 1024 * 1024);
    const { client } = system;
    await refuses(client.start(ExcessFlow, flowId, large as never), 'PAYLOAD_TOO_LARGE', /input of ExcessFlow takes/);
    await refuses(client.describe(flowId), 'FLOW_NOT_FOUND');
    await client.start(SumFlow, flowId, 1);
    const before = await client.describe(flowId);
    await refuses(client.publish(SumFlow, flowId, Amounts, large as never), 'PAYLOAD_TOO_LARGE', /message for Amounts/);
    const many = Array.from({ length: 100_001 }, () => ({ channel: Amounts, value: 1 }));
    await refuses(client.publishAll(SumFlow, flowId, many), 'LIMIT_EXCEEDED', /100000 messages/);
    assert.deepEqual((await client.describe(flowId)).unread, before.unread);
    assert.equal((await eventsOf(client, flowId, 'MessagePublished')).length, 0);
  });
});

describeOnEveryStack('Backlog', flows, (stack) => {
  // Over Redis so many requests at a time take longer than a test should.
  if (!stack.isCluster) {
    it('[P9] past its backlog an engine answers OverloadedError, saves nothing of it, and works again later', async () => {
      const own = await stack.open({ flows });
      const flowId = fresh('p9');
      await own.client.start(SumFlow, flowId, 1_000_000);
      const dam = new Dam(own);
      let overloaded = 0;
      // Everything that is asked from here on saw a change that is not durable yet.
      const published = own.client.publish(SumFlow, flowId, Amounts, 1);
      const calls = Array.from({ length: 20_500 }, (_, i) =>
        own.client.skipTimer(flowId, `Add-${i}`).catch((error) => {
          if (error.code === 'OVERLOADED') overloaded++;
          return error;
        }),
      );
      await eventually(() => dam.reached && overloaded > 0, 30_000);
      dam.open();
      await published;
      const outcomes = await Promise.all(calls);
      assert.ok(outcomes.every(({ code }) => code === 'OVERLOADED' || code === 'STEP_NOT_FOUND'));
      assert.ok(overloaded < 1_000, `${overloaded} were refused`);
      await own.client.publish(SumFlow, flowId, Amounts, 5);
      await own.client.waitForStep(SumFlow, flowId, AddStep);
    });
  }
});

describeOnEveryStack('Failing store', flows, (stack) => {
  for (const mode of ['fail', 'have an unknown outcome'] as const) {
    for (const flow of [SumFlow, AsyncSumFlow]) {
      it(`[P7] writes that ${mode} lose and double nothing: ${flow.name}`, async () => {
        const own = await stack.open({ flows, slots: 3 });
        const flowId = fresh('p7');
        let writes = 0;
        const fault = () => {
          if (++writes % 3 === 0) throw new Error('the store had a bad moment');
        };
        own.store.faults = mode === 'fail' ? { beforeWrite: fault } : { afterWrite: fault };
        await own.client.start(flow, flowId, 20);
        const amounts = Array.from({ length: 20 }, (_, i) => 2 ** i);
        for (const amount of amounts) await own.client.publish(flow, flowId, Amounts, amount);
        assert.equal(await own.client.result(flow, flowId), 2 ** 20 - 1);
        assert.ok(writes > 20);
        own.store.faults = {};
        assert.equal((await eventsOf(own.client, flowId, 'FlowStarted')).length, 1);
        assert.equal((await eventsOf(own.client, flowId, 'MessagePublished')).length, 20);
        assert.equal((await eventsOf(own.client, flowId, 'ExecuteCompleted')).length, 20);
        assert.deepEqual((await own.client.describe(flowId)).unread, []);
      });
    }

    it(`[P7] a write that ${mode === 'fail' ? 'fails' : 'has an unknown outcome'} costs no worker slot`, async () => {
      const own = await stack.open({ flows, slots: 1 });
      for (let i = 0; i < 3; i++) {
        const flowId = fresh('p7');
        let faults = 1;
        const fault = () => {
          if (faults-- > 0) throw new Error('the store had a bad moment');
        };
        own.store.faults = mode === 'fail' ? { beforeWrite: fault } : { afterWrite: fault };
        await own.client.start(DefaultFlow, flowId);
        assert.equal(await own.client.result(DefaultFlow, flowId, { deadline: '20s' }), 'done');
        own.store.faults = {};
      }
    });
  }

  it('[P4] nothing goes out of a write that failed', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('gated');
    let failing = true;
    own.store.faults = {
      beforeWrite: () => {
        if (failing) throw new Error('the store is away');
      },
    };
    let answered = false;
    const start = own.client.start(DefaultFlow, flowId).then(() => {
      answered = true;
    });
    await own.advance(5_000);
    assert.deepEqual([answered, log.of(flowId)], [false, []]);
    failing = false;
    await own.advance(10_000);
    await start;
    await eventually(() => gate.arrived(`${flowId} One`) === 1);
    for (const name of ['One', 'Two', 'Three']) gate.open(`${flowId} ${name}`);
    assert.equal(await own.client.result(DefaultFlow, flowId), 'done');
    assert.deepEqual(log.of(flowId), ['One', 'Two', 'Three']);
  });
});
