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
import { refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const ran = new Log<number>();
const gate = new Gate();
const mebibyte = 1024 * 1024;

@Attribute()
class Document extends DurableAttribute<string> {}

@Channel()
class Unread extends DurableChannel<number> {}

@Channel()
class Never extends DurableChannel<number> {}

@Step({ name: 'Wide' })
class WideStep {
  execute(width: number) {
    return goToMany(Array.from({ length: width }, (_, i) => to(LeafStep, i)));
  }
}

@Step({ name: 'Leaf' })
class LeafStep {
  execute(number: number, ctx: StepContext) {
    ran.add(ctx.flowId, number);
    return gracefulComplete();
  }
}

@Flow({ durability: 'ASYNC' })
class WideFlow {
  static readonly start = WideStep;
  static readonly steps = [LeafStep];
}

@Step({ name: 'Link' })
class LinkStep {
  execute(left: number, ctx: StepContext) {
    ran.add(ctx.flowId, left);
    return left === 1 ? gracefulComplete() : goTo(LinkStep, left - 1);
  }
}

@Flow({ durability: 'ASYNC' })
class ChainFlow {
  static readonly start = LinkStep;
}

interface Load {
  readonly bytes: number;
  readonly messages: number;
  readonly waiting: number;
}

/** Loads its run with state that the chain after it does not touch. */
@Step({ name: 'Load' })
class LoadStep {
  constructor(
    private readonly document: Document,
    private readonly unread: Unread,
  ) {}
  execute({ bytes, messages, waiting }: Load) {
    if (bytes > 0) this.document.set('x'.repeat(bytes));
    for (let i = 0; i < messages; i++) this.unread.publish(i);
    return goToMany([...Array.from({ length: waiting }, (_, i) => to(WaitStep, i)), to(HoldStep)]);
  }
}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(private readonly never: Never) {}
  waitFor(_number: number) {
    return until(this.never.take(1));
  }
  execute(_number: number) {
    return deadEnd();
  }
}

@Step({ name: 'Hold' })
class HoldStep {
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return goTo(LinkStep, 50);
  }
}

@Step({ name: 'Drain' })
class DrainStep {
  constructor(
    private readonly document: Document,
    private readonly unread: Unread,
  ) {}
  waitFor() {
    return until(this.unread.take(5_000));
  }
  execute() {
    const messages = this.unread.received();
    return gracefulComplete([messages.length, messages[0], messages.at(-1), this.document.get()!.length]);
  }
}

@Flow()
class LoadFlow {
  static readonly start = LoadStep;
  static readonly steps = [WaitStep, HoldStep, LinkStep];
}

@Flow()
class DrainFlow {
  static readonly start = DrainStep;
}

const flows = [WideFlow, ChainFlow, LoadFlow, DrainFlow];

describeOnEveryStack('Scale', flows, (stack) => {
  const system = stack.shared({ flows });
  // Many enough for all to be in streams and queues at a time, few enough for one run of the tests.
  const many = stack.isCluster ? 1_000 : 10_000;

  it(`[D1] [P9] ${many} parallel movements of one decision all run, once`, async () => {
    const flowId = fresh('wide');
    await system.client.start(WideFlow, flowId, many);
    await system.client.result(WideFlow, flowId);
    assert.deepEqual(
      [...ran.of(flowId)].sort((a, b) => a - b),
      Array.from({ length: many }, (_, i) => i),
    );
    assert.deepEqual((await system.client.describe(flowId)).scheduled, { Wide: 1, Leaf: many });
  });

  it(`[S2] a chain of ${many} Steps`, async () => {
    const flowId = fresh('chain');
    await system.client.start(ChainFlow, flowId, many);
    await system.client.result(ChainFlow, flowId);
    assert.deepEqual(
      ran.of(flowId),
      Array.from({ length: many }, (_, i) => many - i),
    );
    assert.deepEqual((await system.client.describe(flowId)).scheduled, { Link: many });
  });

  it('[A3] [C2] an Attribute of 3 MiB and 5,000 unread messages are kept, over a crash, and read', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('drain');
    const text = 'd'.repeat(3 * mebibyte);
    await own.client.start(DrainFlow, flowId, undefined, {
      attributes: [{ attribute: Document, key: undefined, value: text }],
    });
    const publish = (from: number, to: number) =>
      own.client.publishAll(
        DrainFlow,
        flowId,
        Array.from({ length: to - from }, (_, i) => ({ channel: Unread, value: from + i })),
      );
    await publish(0, 2_500);
    await publish(2_500, 4_999);
    await own.crash();
    assert.equal((await own.client.describe(flowId)).unread[0]!.messages, 4_999);
    assert.equal((await own.client.attributes(DrainFlow, flowId)).get(Document), text);
    await publish(4_999, 5_000);
    assert.deepEqual(await own.client.result(DrainFlow, flowId), [5_000, 0, 4_999, 3 * mebibyte]);
  });

  it('[P9] what a step writes does not depend on what it does not touch', async () => {
    const empty = await bytesPerWrite(system, { bytes: 0, messages: 0, waiting: 0 });
    const full = await bytesPerWrite(system, { bytes: 3 * mebibyte, messages: 5_000, waiting: 2_000 });
    const measured = `${Math.round(empty)} bytes per write in an empty run, ${Math.round(full)} in a full one`;
    if (process.env.HOLDFAST_SHOW_MEASURES) console.log(`      ${measured}`);
    // The head of a run, written at each change, holds up to 2 KiB of small rows of each kind, and their keys.
    assert.ok(full - empty <= 6 * 1024, measured);
    assert.ok(empty < 8 * 1024, measured);
  });

  it('[P9] bad durations in a call are refused with a clear error, and there is no Flow, or it is as before', async () => {
    const { client } = system;
    const flowId = fresh('bad');
    const start = (options: object) => client.start(DrainFlow, flowId, undefined, options);
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, 'soon', '-5s', '101000d']) {
      for (const option of ['startDelay', 'timeout', 'retention', 'deadline']) {
        await refuses(start({ [option]: bad }), 'INVALID_DURATION', new RegExp(`^${option}: `));
      }
    }
    await refuses(client.describe(flowId), 'FLOW_NOT_FOUND');
    await start({});
    await eventually(async () => assert.equal((await client.describe(flowId)).steps[0]!.state, 'waiting'));
    const before = await client.history(flowId);
    await refuses(client.publish(DrainFlow, flowId, Unread, 1, { deadline: -1 }), 'INVALID_DURATION');
    await refuses(client.publish(DrainFlow, flowId, Unread, (() => 1) as never), 'VALUE_NOT_STORABLE');
    assert.deepEqual(await client.history(flowId), before);
  });
});

/** Bytes that each write of a chain of 50 Steps takes in a run that holds this; one or two a Step. */
async function bytesPerWrite(system: System, load: Load): Promise<number> {
  const flowId = fresh('load');
  await system.client.start(LoadFlow, flowId, load);
  await eventually(async () => {
    const { steps, counts } = await system.client.describe(flowId);
    assert.equal(gate.arrived(flowId), 1);
    assert.equal(counts.byState.running + counts.byState.waiting, counts.steps);
    assert.ok(steps.every(({ state, step }) => state === (step === 'Hold' ? 'running' : 'waiting')));
    assert.equal(system.store.writing, 0);
  }, 30_000);
  const before = { ...system.stats };
  gate.open(flowId);
  await eventually(() => ran.of(flowId).length === 50);
  await system.client.waitForStep(LoadFlow, flowId, LinkStep, { number: 50 });
  const { writes, bytes } = system.stats;
  assert.ok(writes - before.writes <= 2 * 51 + 10, `${writes - before.writes} writes`);
  return (bytes - before.bytes) / (writes - before.writes);
}
