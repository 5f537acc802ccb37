import assert from 'node:assert/strict';
import {
  allOf,
  anyOf,
  Channel,
  continueAsNew,
  DurableChannel,
  deadEnd,
  Flow,
  forceFail,
  goTo,
  gracefulComplete,
  Rpc,
  Step,
  type StepContext,
  type SubFlowOptions,
  startSubFlow,
  subFlow,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, failureOf, refuses } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const runs = new Log();

@Channel()
class Wakes extends DurableChannel<string> {}

/** Ends as it is told: at once, or when it is woken. */
interface ChildInput {
  readonly how: 'complete' | 'throw' | 'wait';
  readonly value?: number;
}

@Step({ name: 'Child', retry: { initialInterval: 1, nonRetryable: [RangeError] } })
class ChildStep {
  constructor(private readonly wakes: Wakes) {}

  waitFor({ how }: ChildInput) {
    return how === 'wait' ? until(this.wakes.take(1)) : until(Timer.after(0));
  }

  execute({ how, value = 0 }: ChildInput, ctx: StepContext) {
    runs.add(ctx.flowId, ctx.parent?.flowId ?? 'no parent');
    if (how === 'throw') throw new RangeError(`child ${value}`);
    return gracefulComplete(value * 2);
  }
}

@Flow({ name: 'SubChild' })
class ChildFlow {
  static readonly start = ChildStep;
}

interface ParentInput {
  readonly children: readonly (ChildInput & { readonly flowId?: string; readonly reuse?: SubFlowOptions['reuse'] })[];
  readonly parentClose?: SubFlowOptions['parentClose'];
}

type Outcomes = readonly (readonly [status: string, output: unknown, error: string | undefined])[];

@Step({ name: 'Join', retry: { initialInterval: 1 } })
class JoinStep {
  waitFor({ children, parentClose = 'terminate' }: ParentInput) {
    const conditions = children.map(({ flowId, reuse, ...input }, i) =>
      subFlow(ChildFlow, input, { parentClose, id: `c${i}`, ...(flowId && { flowId }), ...(reuse && { reuse }) }),
    );
    return allOf(...conditions);
  }

  execute({ children }: ParentInput, ctx: StepContext) {
    const outcomes: Outcomes = children.map((_, i) => {
      const { status, output, error } = ctx.subFlow(`c${i}`)!;
      return [status, output, error?.message] as const;
    });
    return gracefulComplete(outcomes);
  }
}

@Flow({ name: 'SubParent' })
class ParentFlow {
  static readonly start = JoinStep;
}

/** Starts children without waiting for them, then ends in some way. */
interface LaunchInput {
  readonly name: string;
  readonly parentClose: SubFlowOptions['parentClose'];
  readonly count?: number;
  readonly end: 'complete' | 'fail' | 'stay' | 'throw once' | 'continue';
}

@Step({ name: 'Launch', retry: { initialInterval: 1 } })
class LaunchStep {
  execute(input: LaunchInput, ctx: StepContext) {
    const { name, parentClose, count = 1, end } = input;
    for (let i = 0; i < count; i++) startSubFlow(ChildFlow, { how: 'wait' }, { parentClose, flowId: `${name}-${i}` });
    if (end === 'throw once' && ctx.attempt === 1) throw new Error('once');
    if (end === 'fail') return forceFail('as told');
    if (end === 'continue') return continueAsNew(LaunchFlow, { ...input, count: 0, end: 'stay' });
    return end === 'stay' || end === 'throw once' ? goTo(StayStep) : gracefulComplete();
  }
}

@Step({ name: 'Stay' })
class StayStep {
  constructor(private readonly wakes: Wakes) {}

  waitFor() {
    return until(this.wakes.take(1));
  }

  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'SubLaunch' })
class LaunchFlow {
  static readonly start = LaunchStep;
  static readonly steps = [StayStep];

  @Rpc() launch(flowId: string) {
    return startSubFlow(ChildFlow, { how: 'wait' }, { parentClose: 'cancel', flowId });
  }
}

interface RaceInput {
  readonly name: string;
  readonly cancelWithWait: boolean;
}

@Step({ name: 'Race' })
class RaceStep {
  waitFor({ name, cancelWithWait }: RaceInput) {
    return anyOf(
      Timer.after('1h', 'late'),
      subFlow(ChildFlow, { how: 'wait' }, { parentClose: 'abandon', flowId: name, cancelWithWait }),
    );
  }

  execute(_: RaceInput, ctx: StepContext) {
    if (ctx.fired('late')) return goTo(RestStep);
    return deadEnd();
  }
}

@Step({ name: 'Rest' })
class RestStep {
  constructor(private readonly wakes: Wakes) {}

  waitFor() {
    return until(this.wakes.take(1));
  }

  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'SubRace' })
class RaceFlow {
  static readonly start = RaceStep;
  static readonly steps = [RestStep];
}

const flows = [ChildFlow, ParentFlow, LaunchFlow, RaceFlow];

async function statusOf(system: System, flowId: string): Promise<string> {
  return (await system.client.describe(flowId)).status;
}

describeOnEveryStack('SubFlows', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[U1] [U2] are started once when the wait is saved, and their outcomes are read by the parent', async () => {
    const flowId = fresh('parent');
    const children = [{ how: 'complete', value: 1 } as const, { how: 'throw', value: 7 } as const];
    await system.client.start(ParentFlow, flowId, { children });
    assert.deepEqual(await system.client.result(ParentFlow, flowId), [
      ['completed', 2, undefined],
      ['failed', undefined, 'child 7'],
    ]);
    const requested = await eventsOf(system.client, flowId, 'ChildRequested');
    const ids = requested.map(({ fields }) => (fields.child as { flowId: string }).flowId);
    assert.equal(ids.length, 2);
    for (const id of ids) assert.deepEqual(runs.of(id), [flowId], '[U5] a child knows its parent, and ran once');
    assert.ok(ids.every((id) => id.startsWith(`${flowId}/Join-1.waitFor`)));
  });

  it('[U1] [U2] a child that is stopped by somebody wakes its parent', async () => {
    const flowId = fresh('parent');
    const child = fresh('child');
    await system.client.start(ParentFlow, flowId, { children: [{ how: 'wait', flowId: child }] });
    await eventually(() => statusOf(system, child));
    await system.client.stop(child, 'terminate', 'test');
    assert.deepEqual(await system.client.result(ParentFlow, flowId), [['terminated', undefined, 'test']]);
  });

  it('[U1] [U4] a taken flowId is refused, attached to or started anew as the policy says', async () => {
    const [open, failed, done] = [fresh('open'), fresh('failed'), fresh('done')];
    await system.client.start(ChildFlow, open, { how: 'wait' });
    await system.client.start(ChildFlow, failed, { how: 'throw', value: 1 });
    await system.client.start(ChildFlow, done, { how: 'complete', value: 5 });
    await failureOf(system.client, ChildFlow, failed);
    await system.client.result(ChildFlow, done);
    const flowId = fresh('parent');
    const again = { how: 'complete', value: 9 } as const;
    await system.client.start(ParentFlow, flowId, {
      children: [
        { ...again, flowId: open },
        { ...again, flowId: failed },
        { ...again, flowId: done },
        { ...again, flowId: done, reuse: 'attach' },
      ],
    });
    const outcomes = (await system.client.result(ParentFlow, flowId)) as Outcomes;
    assert.deepEqual(
      outcomes.map(([status, output]) => [status, output]),
      [
        ['refused', undefined],
        ['completed', 18],
        ['completed', 10],
        ['completed', 10],
      ],
    );
    assert.match(outcomes[0]![2]!, /is taken by run/);
    assert.equal(await statusOf(system, open), 'running');
  });

  it('[U3] the parent-close policy is applied once the parent has closed, however it closes', async () => {
    for (const [end, parentClose, expected] of [
      ['complete', 'terminate', 'terminated'],
      ['fail', 'cancel', 'cancelled'],
      ['complete', 'abandon', 'running'],
    ] as const) {
      const name = fresh(`left by ${end}`);
      await system.client.start(LaunchFlow, fresh('launch'), { name, parentClose, count: 3, end });
      for (let i = 0; i < 3; i++) {
        await eventually(async () => assert.equal(await statusOf(system, `${name}-${i}`), expected));
      }
    }
  });

  it('[U3] a child that is only attached to, or that was there before, is left alone', async () => {
    const child = fresh('before');
    await system.client.start(ChildFlow, child, { how: 'wait' });
    const flowId = fresh('parent');
    await system.client.start(ParentFlow, flowId, { children: [{ how: 'wait', flowId: child, reuse: 'attach' }] });
    await eventually(async () => assert.equal((await eventsOf(system.client, flowId, 'ChildStarted')).length, 1));
    await system.client.stop(flowId, 'cancel', 'test');
    await system.client.publish(ChildFlow, child, Wakes, 'go');
    assert.equal(await system.client.result(ChildFlow, child), 0);
  });

  it('[U1] [S5] what a failed attempt started is not started', async () => {
    const name = fresh('retried');
    const flowId = fresh('launch');
    await system.client.start(LaunchFlow, flowId, { name, parentClose: 'cancel', end: 'throw once' });
    await eventually(() => statusOf(system, `${name}-0`));
    assert.equal((await eventsOf(system.client, flowId, 'ChildRequested')).length, 1);
  });

  it('[U1] an RPC starts one, saved with its answer', async () => {
    const flowId = fresh('launch');
    const child = fresh('by rpc');
    await system.client.start(LaunchFlow, flowId, {
      name: fresh('none'),
      parentClose: 'cancel',
      count: 0,
      end: 'stay',
    });
    assert.equal(await system.client.rpc(LaunchFlow, flowId).launch(child), child);
    await eventually(async () => assert.equal(await statusOf(system, child), 'running'));
    await system.client.publish(LaunchFlow, flowId, Wakes, 'end');
    await eventually(async () => assert.equal(await statusOf(system, child), 'cancelled'));
  });

  it('[U1] a wait that loses leaves its child running, unless it is to go with the wait', async () => {
    for (const [cancelWithWait, expected] of [
      [false, 'running'],
      [true, 'cancelled'],
    ] as const) {
      const name = fresh('raced');
      const flowId = fresh('race');
      await system.client.start(RaceFlow, flowId, { name, cancelWithWait });
      await eventually(async () => assert.equal((await eventsOf(system.client, flowId, 'ChildStarted')).length, 1));
      await system.client.skipTimer(flowId, 'Race-1', 'late');
      await system.client.waitForStep(RaceFlow, flowId, RaceStep);
      await eventually(async () => assert.equal(await statusOf(system, name), expected));
    }
  });

  it('[N2] [U3] children go along over continue-as-new', async () => {
    const name = fresh('carried');
    const flowId = fresh('launch');
    await system.client.start(LaunchFlow, flowId, { name, parentClose: 'terminate', end: 'continue' });
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).previousRunId, null));
    assert.equal(await statusOf(system, `${name}-0`), 'running');
    await system.client.publish(LaunchFlow, flowId, Wakes, 'end');
    await eventually(async () => assert.equal(await statusOf(system, `${name}-0`), 'terminated'));
  });

  it('[U3] the policy has no default', async () => {
    await refuses(
      (async () => subFlow(ChildFlow, { how: 'wait' }, {} as never))(),
      'DEFINITION',
      /what becomes of the SubFlow/,
    );
  });

  // All 10,000 on every store: WIDE=1.
  const wide = stack.name === 'memory' || process.env.WIDE ? 10_000 : 1_000;
  it(`[U6] [C76] ${wide} children of one parent all run, and the parent goes on once`, async () => {
    const flowId = fresh('wide');
    const children = Array.from({ length: wide }, (_, value) => ({ how: 'complete', value }) as const);
    await system.client.start(ParentFlow, flowId, { children });
    const outcomes = (await system.client.result(ParentFlow, flowId)) as Outcomes;
    assert.deepEqual(
      outcomes.map(([, output]) => output),
      children.map(({ value }) => value * 2),
    );
    assert.equal((await eventsOf(system.client, flowId, 'WaitSatisfied')).length, 1);
  }).timeout(240_000);
});

describeOnEveryStack('SubFlows over a crash', flows, (stack) => {
  it('[U1] [U3] [C29] every child of a parent that closed at once is started, then closed by policy', async () => {
    const system = await stack.open({ flows });
    const name = fresh('orphans');
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        system.client.start(LaunchFlow, `${name}-parent-${i}`, {
          name: `${name}-${i}`,
          parentClose: i % 2 === 0 ? 'abandon' : 'cancel',
          end: 'complete',
        }),
      ),
    );
    await system.crash();
    for (let i = 0; i < 20; i++) {
      await eventually(async () =>
        assert.equal(await statusOf(system, `${name}-${i}-0`), i % 2 === 0 ? 'running' : 'cancelled'),
      );
    }
  });

  it('[U1] [U5] a parent that waits hears of its children after a crash, once', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('parent');
    const ids = Array.from({ length: 5 }, () => fresh('child'));
    await system.client.start(ParentFlow, flowId, {
      children: ids.map((flowId) => ({ how: 'wait', flowId }) as const),
    });
    for (const id of ids) await eventually(() => statusOf(system, id));
    await system.client.publish(ChildFlow, ids[0]!, Wakes, 'go');
    await system.crash();
    for (const id of ids.slice(1)) await system.client.publish(ChildFlow, id, Wakes, 'go');
    const outcomes = (await system.client.result(ParentFlow, flowId)) as Outcomes;
    assert.deepEqual(new Set(outcomes.map(([status]) => status)), new Set(['completed']));
    assert.equal((await eventsOf(system.client, flowId, 'ChildClosed')).length, 5);
  });
});
