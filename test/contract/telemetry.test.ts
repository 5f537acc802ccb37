import assert from 'node:assert/strict';
import {
  Channel,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Holdfast,
  type Logger,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  startSubFlow,
  type Telemetry,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { fresh } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

@Channel()
class Note extends DurableChannel<string> {}

const traces = new Map<string, string | undefined>();

@Step({ name: 'Kid' })
class KidStep {
  execute(_input: undefined, ctx: StepContext) {
    traces.set(ctx.flowId, ctx.trace);
    return gracefulComplete();
  }
}

@Flow({ name: 'Kid' })
class KidFlow {
  static readonly start = KidStep;
}

@Step({ name: 'First', retry: { initialInterval: 1 } })
class FirstStep {
  constructor(private readonly note: Note) {}
  execute(_input: undefined, ctx: StepContext) {
    if (ctx.attempt === 1) throw new RangeError('not yet');
    this.note.publish('one');
    traces.set(ctx.flowId, ctx.trace);
    startSubFlow(KidFlow, undefined, { parentClose: 'abandon', flowId: `${ctx.flowId}-kid` });
    return goTo(LastStep);
  }
}

@Step({ name: 'Last' })
class LastStep {
  constructor(private readonly note: Note) {}
  waitFor() {
    return until(this.note.take(2));
  }
  execute(_input: undefined, ctx: StepContext) {
    startSubFlow(KidFlow, undefined, { parentClose: 'abandon', flowId: `${ctx.flowId}-late` });
    return gracefulComplete();
  }
}

@Flow({ name: 'Traced' })
class TracedFlow {
  static readonly start = FirstStep;
  static readonly steps = [LastStep];
  @Rpc() traceOf(ctx: RpcContext) {
    return ctx.trace ?? 'none';
  }
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const first = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const second = '00-aaaabbbbccccddddaaaabbbbccccdddd-1111222233334444-00';

describe('Telemetry', () => {
  const open = (telemetry: Telemetry) =>
    Holdfast.open({ flows: [TracedFlow, KidFlow], store: 'memory:', telemetry, logger: silent });

  async function run({ client }: Holdfast): Promise<void> {
    const flowId = fresh('told');
    await client.start(TracedFlow, flowId);
    await client.rpc(TracedFlow, flowId).traceOf();
    await client.publish(TracedFlow, flowId, Note, 'two');
    await client.result(TracedFlow, flowId);
    for (const kid of ['kid', 'late']) await client.result(KidFlow, `${flowId}-${kid}`);
  }

  it('[K5] counts and timings leave through a port', async () => {
    const counted = new Map<string, number>();
    const measured = new Map<string, number>();
    const holdfast = await open({
      count: (name, value, labels) => {
        const key = [name, ...Object.values(labels)].join(' ');
        counted.set(key, (counted.get(key) ?? 0) + value);
      },
      measure: (name, ms, labels) => {
        assert.ok(ms >= 0);
        const key = [name, ...Object.values(labels)].join(' ');
        measured.set(key, (measured.get(key) ?? 0) + 1);
      },
    });
    await run(holdfast);
    await holdfast.close();
    assert.deepEqual(Object.fromEntries([...counted].sort()), {
      'attempts.failed Traced First execute RangeError': 1,
      'attempts.started Kid Kid execute': 2,
      'attempts.started Traced First execute': 2,
      'attempts.started Traced Last execute': 1,
      'attempts.started Traced Last waitFor': 1,
      'flows.closed Kid completed': 2,
      'flows.closed Traced completed': 1,
      'flows.started Kid': 2,
      'flows.started Traced': 1,
      'messages.published Traced Note': 2,
      'rpcs.completed Traced traceOf': 1,
    });
    assert.ok(measured.get('write 0')! > 0);
    measured.delete('write 0');
    assert.deepEqual(Object.fromEntries([...measured].sort()), {
      'flow Kid completed': 2,
      'flow Traced completed': 1,
      'rpc Traced traceOf answered': 1,
      'step Kid Kid execute decided': 2,
      'step Traced First execute decided': 1,
      'step Traced First execute failed': 1,
      'step Traced Last execute decided': 1,
      'step Traced Last waitFor waited': 1,
    });
  });

  it('[K5] telemetry that throws does no harm', async () => {
    const fails = () => {
      throw new Error('no telemetry');
    };
    const holdfast = await open({ count: fails, measure: fails });
    await run(holdfast);
    await holdfast.close();
  });
});

describeOnEveryStore('Trace context', (stack) => {
  it('[K5] goes from the client to Steps, RPCs and SubFlows, also over a crash and from a parent that has closed', async () => {
    const system = await stack.open({ flows: [TracedFlow, KidFlow] });
    const flowId = fresh('traced');
    await system.client.start(TracedFlow, flowId, undefined, { trace: first });
    await eventually(() => traces.get(`${flowId}-kid`) === first);
    assert.equal(traces.get(flowId), first);
    assert.equal(await system.client.rpc(TracedFlow, flowId).traceOf(), first);
    assert.equal(await system.client.rpc(TracedFlow, flowId, { trace: second }).traceOf(), second);
    await system.crash();
    await system.client.publish(TracedFlow, flowId, Note, 'two');
    await eventually(() => traces.get(`${flowId}-late`) === first);
  });

  it('[K5] there is none where none was given, and a wrong one is refused', async () => {
    const system = await stack.open({ flows: [TracedFlow, KidFlow] });
    const flowId = fresh('traced');
    const wrong = { code: 'INVALID_ARGUMENT' };
    await assert.rejects(system.client.start(TracedFlow, flowId, undefined, { trace: 'mine' }), wrong);
    await system.client.start(TracedFlow, flowId);
    await eventually(() => traces.has(`${flowId}-kid`));
    assert.equal(traces.get(`${flowId}-kid`), undefined);
    assert.equal(await system.client.rpc(TracedFlow, flowId).traceOf(), 'none');
    await assert.rejects(async () => system.client.rpc(TracedFlow, flowId, { trace: '' }).traceOf(), wrong);
  });
});
