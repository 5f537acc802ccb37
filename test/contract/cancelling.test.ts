import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  type Decision,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  forceComplete,
  goToMany,
  Lock,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute(Lock.exclusive)
class Locked extends DurableAttribute<number> {}

@Channel()
class Mail extends DurableChannel<string> {}

/** Two of these begin the same Steps, so that there are siblings and others. */
@Step({ name: 'Parent' })
class ParentStep {
  async execute(name: string, ctx: StepContext) {
    await gate.pass(`${ctx.flowId} parent ${name}`);
    return goToMany(
      ...[to(DecideStep, name), to(WaitStep), to(WorkStep, name), to(RetryStep)],
      ...[to(HoldStep), to(HoldStep), to(OtherStep)],
    );
  }
}

@Step({ name: 'Begin' })
class BeginStep {
  execute() {
    return goToMany(to(ParentStep, 'a'), to(ParentStep, 'b'));
  }
}

@Step({ name: 'Decide' })
class DecideStep {
  async execute(name: string, ctx: StepContext): Promise<Decision> {
    await gate.pass(`${ctx.flowId} decide ${name}`);
    const steps = [WaitStep, WorkStep, RetryStep, HoldStep] as const;
    // What the decision itself starts is not cancelled by it.
    const decision = goToMany(to(WaitStep), to(WorkStep, 'new'));
    if (ctx.flowId.startsWith('siblings')) return decision.cancellingSiblings(...steps);
    if (ctx.flowId.startsWith('close')) return forceComplete('closed').cancelling(...steps);
    return decision.cancelling(...steps);
  }
}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(private readonly mail: Mail) {}
  waitFor() {
    return until(this.mail.take(1));
  }
  execute() {
    return deadEnd();
  }
}

@Step({ name: 'Work' })
class WorkStep {
  async execute(name: string, ctx: StepContext) {
    ctx.signal.addEventListener('abort', () => log.add(ctx.flowId, `aborted ${name}`));
    await gate.pass(`${ctx.flowId} work`);
    log.add(ctx.flowId, `ran on ${name}`);
    return goToMany(to(OtherStep), to(OtherStep));
  }
}

@Step({ name: 'Retry', retry: { initialInterval: '1h' } })
class RetryStep {
  execute(): never {
    throw new Error('again');
  }
}

@Step({ name: 'Hold' })
class HoldStep {
  constructor(private readonly locked: Locked) {}
  async execute(_input: undefined, ctx: StepContext) {
    this.locked.set(1);
    await gate.pass(`${ctx.flowId} hold`);
    return deadEnd();
  }
}

@Step({ name: 'Other' })
class OtherStep {
  waitFor() {
    return until(Timer.after('1d'));
  }
  execute() {
    return deadEnd();
  }
}

@Flow()
class FamilyFlow {
  static readonly start = BeginStep;
  static readonly steps = [ParentStep, DecideStep, WaitStep, WorkStep, RetryStep, HoldStep, OtherStep];
  @Rpc()
  cancel(ctx: RpcContext) {
    ctx.start(WaitStep);
    ctx.cancel(WaitStep, WorkStep, HoldStep);
    ctx.start(WorkStep, 'by the RPC');
  }
}

const flows = [FamilyFlow];

describeOnEveryStack('Cancelling', flows, (stack) => {
  const system = stack.shared({ flows });
  const steps = async (flowId: string) => {
    const states = await stepStates(system.client, flowId);
    return Object.entries(states).map(([id, state]) => `${id} ${state}`);
  };
  const open = async (name: string) => {
    const flowId = fresh(name);
    await system.client.start(FamilyFlow, flowId);
    // One after the other, so that the first of each Step is a's.
    gate.open(`${flowId} parent a`);
    await eventually(async () => assert.ok((await steps(flowId)).includes('Decide-1 running')));
    gate.open(`${flowId} parent b`);
    await eventually(async () =>
      assert.deepEqual((await steps(flowId)).sort(), [
        ...[
          'Decide-1 running',
          'Decide-2 running',
          'Hold-1 running',
          'Hold-2 locked',
          'Hold-3 locked',
          'Hold-4 locked',
        ],
        ...['Other-1 waiting', 'Other-2 waiting', 'Retry-1 backoff', 'Retry-2 backoff'],
        ...['Wait-1 waiting', 'Wait-2 waiting', 'Work-1 running', 'Work-2 running'],
      ]),
    );
    return flowId;
  };
  const cancelled = async (flowId: string) =>
    (await eventsOf(system.client, flowId, 'StepCancelled')).map(({ fields }) => `${fields.execution}`).sort();
  const release = (flowId: string) => {
    for (const name of ['decide a', 'decide b', 'work', 'hold']) gate.open(`${flowId} ${name}`);
  };

  it('[O2] [D6] cancels queued, waiting, retrying and running executions in the whole Flow, and nothing it starts itself', async () => {
    const flowId = await open('all');
    gate.open(`${flowId} decide a`);
    await eventually(async () =>
      assert.deepEqual((await steps(flowId)).sort(), [
        ...['Decide-2 running', 'Other-1 waiting', 'Other-2 waiting', 'Wait-3 waiting', 'Work-3 running'],
      ]),
    );
    const kinds = [
      'Hold-1',
      'Hold-2',
      'Hold-3',
      'Hold-4',
      'Retry-1',
      'Retry-2',
      'Wait-1',
      'Wait-2',
      'Work-1',
      'Work-2',
    ];
    assert.deepEqual(await cancelled(flowId), kinds);
    assert.deepEqual((await system.client.describe(flowId)).locks, []);
    // [O2] The handler is told, runs on, and what it does is discarded.
    await eventually(() => log.count(flowId, 'aborted a') === 1 && log.count(flowId, 'aborted b') === 1);
    assert.equal(log.count(flowId, 'aborted new'), 0);
    for (const name of ['work', 'hold']) gate.open(`${flowId} ${name}`);
    await eventually(() => log.count(flowId, 'ran on a') === 1 && log.count(flowId, 'ran on b') === 1);
    await system.client.waitForStep(FamilyFlow, flowId, WorkStep, { number: 3 });
    assert.equal((await system.client.describe(flowId)).scheduled.Other, 4);
    assert.equal((await system.client.attributes(FamilyFlow, flowId)).get(Locked), undefined);
    await system.client.stop(flowId, 'terminate', 'enough');
  });

  it('[D6] cancellingSiblings cancels only what the same execution scheduled', async () => {
    const flowId = await open('siblings');
    const siblings = (await eventsOf(system.client, flowId, 'StepScheduled'))
      .filter(({ fields }) => {
        const from = fields.from as { stepExecutionId?: string };
        return from.stepExecutionId === 'Parent-2' && /^(Wait|Work|Retry|Hold)-/.test(`${fields.execution}`);
      })
      .map(({ fields }) => `${fields.execution}`);
    assert.equal(siblings.length, 5);
    const decide = (await eventsOf(system.client, flowId, 'StepScheduled')).find(
      ({ fields }) =>
        `${fields.execution}`.startsWith('Decide') &&
        (fields.from as { stepExecutionId?: string }).stepExecutionId === 'Parent-2',
    );
    gate.open(`${flowId} decide ${decide!.fields.input}`);
    await eventually(async () => assert.deepEqual(await cancelled(flowId), siblings.sort()));
    release(flowId);
    await system.client.stop(flowId, 'terminate', 'enough');
  });

  it('[D6] [D3] goes with any decision, also one that closes', async () => {
    const flowId = await open('close');
    gate.open(`${flowId} decide b`);
    assert.equal(await system.client.result(FamilyFlow, flowId), 'closed');
    const all = await cancelled(flowId);
    assert.equal(all.length, 13);
    assert.equal(new Set(all).size, 13);
    release(flowId);
  });

  it('[D6] [R3] an RPC cancels all executions of a Step but those that it starts', async () => {
    const flowId = await open('rpc');
    await system.client.rpc(FamilyFlow, flowId).cancel();
    const kinds = ['Hold-1', 'Hold-2', 'Hold-3', 'Hold-4', 'Wait-1', 'Wait-2', 'Work-1', 'Work-2'];
    assert.deepEqual(await cancelled(flowId), kinds);
    await eventually(async () => {
      const now = await steps(flowId);
      assert.ok(now.includes('Wait-3 waiting') && now.includes('Work-3 running'), now.join());
    });
    await eventually(() => log.count(flowId, 'aborted a') === 1);
    release(flowId);
    await system.client.stop(flowId, 'terminate', 'enough');
  });
});
