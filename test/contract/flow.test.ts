import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  CompileError,
  compile,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  deadEnd,
  Flow,
  type FlowClass,
  forceFail,
  gracefulComplete,
  initially,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, failureOf, refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const runs = new Log();
const gate = new Gate();

@Step()
class EchoStep {
  execute(input: string, ctx: StepContext) {
    runs.add(ctx.flowId, input);
    return gracefulComplete(input);
  }
}

@Flow()
class EchoFlow {
  static readonly start = EchoStep;
}

@Flow({ name: 'billing-v1' })
class NamedFlow {
  static readonly start = EchoStep;
}

@Step()
class BlockedStep {
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return gracefulComplete(ctx.runId);
  }
}

@Flow()
class BlockedFlow {
  static readonly start = BlockedStep;
}

@Channel()
class Inputs extends DurableChannel<number> {}

@Flow()
class IdleFlow {
  constructor(readonly inputs: Inputs) {}
}

@Attribute()
class Limit extends DurableAttribute<number> {}

@Attribute()
class Regions extends DurableAttributeMap<string> {}

@Step()
class ReadStep {
  constructor(
    private readonly limit: Limit,
    private readonly regions: Regions,
  ) {}

  waitFor(_input: undefined, ctx: StepContext) {
    ctx.locals.set('seen in waitFor', this.limit.get() ?? null);
    return until(Timer.after(0));
  }

  execute(_input: undefined, ctx: StepContext) {
    const entries = this.regions.keys().map((key) => [key, this.regions.get(key)]);
    return gracefulComplete([ctx.locals.get('seen in waitFor'), this.limit.get(), entries]);
  }
}

@Flow()
class ReadFlow {
  static readonly start = ReadStep;
}

@Step()
class EndStep {
  execute(how: 'decision' | 'worker' | 'definition' | 'wait') {
    if (how === 'decision') return forceFail('not today');
    if (how === 'worker') throw new RangeError('out of range');
    if (how === 'definition') return 'no decision' as never;
    return deadEnd();
  }
}

@Step({ retry: { maximumAttempts: 1 } })
class OnceStep extends EndStep {}

@Flow()
class EndFlow {
  static readonly start = OnceStep;
}

const flows = [EchoFlow, NamedFlow, BlockedFlow, IdleFlow, ReadFlow, EndFlow];

@Flow({ name: 'stable' })
class Original {
  static readonly start = BlockedStep;
}

@Flow({ name: 'stable' })
class Minified {
  static readonly start = BlockedStep;
}
Object.defineProperty(Minified, 'name', { value: 'a' });

describeOnEveryStack('Flow', [...flows, Original, Minified], (stack) => {
  const system = stack.shared({ flows });

  it('[F1] a Flow goes by its class name, or by the name it is given', async () => {
    const [plain, named] = [fresh('plain'), fresh('named')];
    await system.client.start(EchoFlow, plain, 'a');
    await system.client.start(NamedFlow, named, 'b');
    assert.equal((await system.client.describe(plain)).flow, 'EchoFlow');
    assert.equal((await system.client.describe(named)).flow, 'billing-v1');
  });

  it('[F1] a name from the decorator survives minification: runs go on under another class name', async () => {
    const own = await stack.open({ flows: [Original] });
    const flowId = fresh('minified');
    const { runId } = await own.client.start(Original, flowId);
    await own.crash({ flows: [Minified] });
    gate.open(flowId);
    assert.equal(await own.client.result(Minified, flowId), runId);
  });

  it('[F1] two Flows of one name, and classes that are not marked, are refused at opening', async () => {
    @Flow({ name: 'EchoFlow' })
    class Other {}
    class Unmarked {}
    assert.throws(() => compile([EchoFlow, Other]), CompileError);
    assert.throws(() => compile([Unmarked]), CompileError);
    await assert.rejects(stack.open({ flows: [EchoFlow, Other] }), CompileError);
  });

  it('[F2] a Flow without a start Step runs until it is stopped', async () => {
    const flowId = fresh('idle');
    await refuses(system.client.start(IdleFlow, fresh('idle'), 1 as never), 'INVALID_ARGUMENT', /no start Step/);
    await system.client.start(IdleFlow, flowId);
    await system.client.publish(IdleFlow, flowId, Inputs, 1);
    const { status, steps } = await system.client.describe(flowId);
    assert.deepEqual({ status, steps }, { status: 'running', steps: [] });
    assert.deepEqual(await eventKinds(system.client, flowId), ['FlowStarted', 'MessagePublished']);
    assert.deepEqual(await system.client.stop(flowId, 'cancel', 'enough'), { status: 'cancelled' });
  });

  it('[F2] more than one start Step is refused', () => {
    // @ts-expect-error a Flow has one start Step
    @Flow()
    class TwoStarts {
      static readonly start = [EchoStep, BlockedStep];
    }
    assert.throws(() => compile([TwoStarts as unknown as FlowClass]), CompileError);
  });

  for (const flowId of ['a:b', 'a/b/../c', '.', '🚀 début', 'ж'.repeat(256), `${'x'.repeat(508)}🚀`, 'h/1', '\u0001']) {
    it(`[F3] takes the flowId ${JSON.stringify(flowId.slice(0, 20))} of ${Buffer.byteLength(flowId)} bytes`, async () => {
      const { runId } = await system.client.start(EchoFlow, flowId, flowId);
      assert.equal(await system.client.result(EchoFlow, flowId), flowId);
      const description = await system.client.describe(flowId);
      assert.deepEqual([description.flowId, description.runId], [flowId, runId]);
      assert.equal((await system.client.history(flowId)).at(-1)?.kind, 'FlowClosed');
    });
  }

  it('[F3] flowIds that begin alike, or look like keys, are kept apart', async () => {
    const prefix = fresh('apart');
    const ids = ['', '/', '/1', ':', '\u0001', '\u{10ffff}', '🚀'].map((end) => prefix + end);
    for (const id of ids) await system.client.start(EchoFlow, id, id);
    for (const id of ids) assert.equal(await system.client.result(EchoFlow, id), id);
  });

  it('[F3] refuses flowIds that are empty, too long, hold NUL or a lone surrogate, or are no text', async () => {
    const { client } = system;
    const bad = [
      '',
      'x'.repeat(513),
      `${'x'.repeat(510)}🚀`,
      'ж'.repeat(257),
      'a\0b',
      'a\ud800',
      '\udc00a',
      7,
      null,
      undefined,
    ];
    for (const flowId of bad as string[]) {
      await refuses(client.start(EchoFlow, flowId, 'x'), 'INVALID_ID', /flowId must be a non-empty Unicode string/);
      await refuses(client.describe(flowId), 'INVALID_ID');
      await refuses(client.publish(IdleFlow, flowId, Inputs, 1), 'INVALID_ID');
      await refuses(client.stop(flowId, 'cancel', 'x'), 'INVALID_ID');
      await refuses(client.result(EchoFlow, flowId), 'INVALID_ID');
    }
  });

  it('[F3] at most one run of a flowId is open, and the runId is ours', async () => {
    const flowId = fresh('single');
    const starts = Array.from({ length: 20 }, () =>
      system.client.start(BlockedFlow, flowId, undefined, { idReuse: 'ifClosed' }),
    );
    const outcomes = await Promise.allSettled(starts);
    const started = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    assert.equal(started.length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'FLOW_ALREADY_EXISTS');
    }
    gate.open(flowId);
    assert.equal(await system.client.result(BlockedFlow, flowId), started[0]!.value.runId);
    const next = await system.client.start(BlockedFlow, flowId, undefined, { idReuse: 'ifClosed' });
    assert.notEqual(next.runId, started[0]!.value.runId);
  });

  it('[F5] starts with one requestId start once and get one answer', async () => {
    const flowId = fresh('once');
    const start = () => system.client.start(EchoFlow, flowId, 'x', { requestId: 'r-1' });
    const answers = await Promise.all(Array.from({ length: 10 }, start));
    assert.equal(new Set(answers.map(({ runId }) => runId)).size, 1);
    await system.client.result(EchoFlow, flowId);
    assert.deepEqual(runs.of(flowId), ['x']);
    assert.equal((await eventsOf(system.client, flowId, 'FlowStarted')).length, 1);
  });

  it('[F5] a known requestId is answered before reuse policy, open and closed are looked at', async () => {
    const flowId = fresh('known');
    const start = (idReuse: 'reject' | 'terminateRunning') =>
      system.client.start(BlockedFlow, flowId, undefined, { requestId: idReuse, idReuse });
    const first = await start('reject');
    assert.deepEqual(await start('reject'), first);
    gate.open(flowId);
    await system.client.result(BlockedFlow, flowId);
    assert.deepEqual(await start('reject'), first);
    const second = await start('terminateRunning');
    assert.notEqual(second.runId, first.runId);
    assert.deepEqual(await start('terminateRunning'), second);
    assert.equal((await system.client.describe(flowId)).runId, second.runId);
    assert.deepEqual(await start('reject'), first);
  });

  it('[F8] initial Attributes are there with the start and seen by the first Step', async () => {
    const flowId = fresh('initial');
    await system.client.start(ReadFlow, flowId, undefined, {
      attributes: [initially(Limit, 7), initially(Regions, 'eu', 'Dublin'), initially(Regions, 'us', 'Ohio')],
    });
    const entries = [
      ['eu', 'Dublin'],
      ['us', 'Ohio'],
    ];
    assert.deepEqual(await system.client.result(ReadFlow, flowId), [7, 7, entries]);
    const values = await system.client.attributes(ReadFlow, flowId);
    assert.equal(values.get(Limit), 7);
    assert.deepEqual([...values.entries(Regions)], entries);
  });

  it('[F8] an initial Attribute that the Flow lacks, or that cannot be kept, refuses the start', async () => {
    const flowId = fresh('initial');
    const start = (attribute: ReturnType<typeof initially>) =>
      system.client.start(ReadFlow, flowId, undefined, { attributes: [attribute] });
    @Attribute()
    class Foreign extends DurableAttribute<number> {}
    await refuses(start(initially(Foreign, 1)), 'INVALID_ARGUMENT', /Foreign/);
    await refuses(start(initially(Limit, (() => 1) as never)), 'VALUE_NOT_STORABLE', /Limit/);
    await refuses(start(initially(Regions, 'eu' as never)), 'DEFINITION', /Regions/);
    await refuses(system.client.describe(flowId), 'FLOW_NOT_FOUND');
  });

  it('[F10] a Flow is running, completed, failed, cancelled or terminated', async () => {
    const { client } = system;
    const [completed, failed, cancelled, terminated] = ['a', 'b', 'c', 'd'].map(fresh) as [
      string,
      string,
      string,
      string,
    ];
    await client.start(EchoFlow, completed, 'x');
    await client.start(EndFlow, failed, 'decision');
    for (const flowId of [cancelled, terminated]) {
      await client.start(EndFlow, flowId, 'wait');
      assert.equal((await client.describe(flowId)).status, 'running');
    }
    await client.stop(cancelled, 'cancel', 'by hand');
    await client.stop(terminated, 'terminate', 'by hand');
    await client.result(EchoFlow, completed);
    await failureOf(client, EndFlow, failed);
    const statusOf = async (flowId: string) => (await client.describe(flowId)).status;
    assert.deepEqual(await Promise.all([completed, failed, cancelled, terminated].map(statusOf)), [
      'completed',
      'failed',
      'cancelled',
      'terminated',
    ]);
  });

  it('[F10] failed says its kind: decision, worker, definition or client', async () => {
    const { client } = system;
    for (const [kind, message] of [
      ['decision', /not today/],
      ['worker', /RangeError: out of range/],
      ['definition', /no decision/],
    ] as const) {
      const flowId = fresh(kind);
      await client.start(EndFlow, flowId, kind);
      const error = await failureOf(client, EndFlow, flowId);
      assert.deepEqual([error.status, error.failKind], ['failed', kind]);
      assert.match(error.message, message);
      const described = await client.describe(flowId);
      assert.deepEqual([described.status, described.failKind], ['failed', kind]);
    }
    const stopped = fresh('client');
    await client.start(EndFlow, stopped, 'wait');
    await client.stop(stopped, 'fail', 'wrong order');
    const error = await failureOf(client, EndFlow, stopped);
    assert.deepEqual([error.status, error.failKind], ['failed', 'client']);
    assert.match(error.message, /wrong order/);
  });
});

describeOnEveryStack('Flow start over losses', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[F5] a client repeats a start that is not answered, and it starts once', async () => {
    const flowId = fresh('repeat');
    const writing = new Gate();
    system.store.faults = { beforeWrite: () => writing.pass('write') };
    const start = system.client.start(EchoFlow, flowId, 'x');
    await eventually(() => writing.arrived('write') > 0);
    for (let i = 0; i < 3; i++) system.clock.move(5_001);
    writing.open('write');
    const { runId } = await start;
    assert.equal(await system.client.result(EchoFlow, flowId), 'x');
    assert.equal((await system.client.describe(flowId)).runId, runId);
    assert.deepEqual(runs.of(flowId), ['x']);
  });

  it('[F5] a start whose answer was lost with the engine is answered as before', async () => {
    const flowId = fresh('lost');
    const first = await system.client.start(EchoFlow, flowId, 'x', { requestId: 'r' });
    await system.crash();
    assert.deepEqual(await system.client.start(EchoFlow, flowId, 'x', { requestId: 'r' }), first);
    await system.client.result(EchoFlow, flowId);
    await system.crash();
    assert.deepEqual(await system.client.start(EchoFlow, flowId, 'x', { requestId: 'r' }), first);
    assert.equal((await eventsOf(system.client, flowId, 'FlowStarted')).length, 1);
  });

  it('[F8] initial Attributes survive a crash right after the start', async () => {
    const flowId = fresh('initial');
    await system.crash({ slots: 0 });
    await system.client.start(ReadFlow, flowId, undefined, { attributes: [initially(Limit, 9)] });
    await system.crash({ slots: 10 });
    assert.deepEqual(await system.client.result(ReadFlow, flowId), [9, 9, []]);
  });
});
