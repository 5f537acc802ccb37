import assert from 'node:assert/strict';
import {
  Channel,
  DurableChannel,
  deadEnd,
  Flow,
  forceComplete,
  forceFail,
  goTo,
  goToMany,
  gracefulComplete,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, failureOf, refuses, stepStates } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();
const log = new Log();
const soon = { initialInterval: 1 };

/** Branches of a Flow, as the test names them. */
interface Branch {
  readonly name: string;
  readonly end?: 'complete' | 'complete with output' | 'dead end' | 'go on' | 'forceComplete' | 'forceFail' | 'wait';
  /** Passed by the test; else the branch ends at once. */
  readonly gated?: boolean;
}

@Channel()
class Wakes extends DurableChannel<string> {}

@Step({ name: 'Split', retry: soon })
class SplitStep {
  execute(branches: Branch[]) {
    return goToMany(branches.map((branch) => (branch.end === 'wait' ? to(WaitStep, branch) : to(BranchStep, branch))));
  }
}

@Step({ name: 'Branch', retry: soon })
class BranchStep {
  async execute(branch: Branch, ctx: StepContext) {
    log.add(ctx.flowId, branch.name);
    if (branch.gated) await gate.pass(`${ctx.flowId} ${branch.name}`);
    if (branch.end === 'complete') return gracefulComplete();
    if (branch.end === 'complete with output') return gracefulComplete(branch.name);
    if (branch.end === 'go on') return goTo(BranchStep, { name: `${branch.name} on`, gated: true });
    if (branch.end === 'forceComplete') return forceComplete(branch.name);
    if (branch.end === 'forceFail') return forceFail(new RangeError(branch.name));
    return deadEnd();
  }
}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(private readonly wakes: Wakes) {}
  waitFor(branch: Branch) {
    return until(branch.gated ? this.wakes.take(1) : Timer.after('1d'));
  }
  execute(branch: Branch, ctx: StepContext) {
    log.add(ctx.flowId, branch.name);
    return deadEnd();
  }
}

@Flow()
class BranchFlow {
  static readonly start = SplitStep;
  static readonly steps = [BranchStep, WaitStep];
}

const flows = [BranchFlow];

describeOnEveryStack('Decision', flows, (stack) => {
  const system = stack.shared({ flows });

  const start = async (...branches: Branch[]) => {
    const flowId = fresh('branches');
    await system.client.start(BranchFlow, flowId, branches);
    return flowId;
  };
  const arrived = (flowId: string, ...names: string[]) =>
    eventually(() => names.every((name) => gate.arrived(`${flowId} ${name}`) > 0));
  const open = (flowId: string, ...names: string[]) => {
    for (const name of names) gate.open(`${flowId} ${name}`);
  };
  const ended = (flowId: string, execution: string) =>
    eventually(async () => assert.ok(!(execution in (await stepStates(system.client, flowId)))));
  const statusOf = async (flowId: string) => (await system.client.describe(flowId)).status;

  it('[D1] movements of one decision run in parallel, each with its input', async () => {
    const names = ['a', 'b', 'c'];
    const flowId = await start(...names.map((name) => ({ name, gated: true, end: 'complete' as const })));
    await arrived(flowId, ...names);
    open(flowId, ...names);
    await system.client.result(BranchFlow, flowId);
    assert.deepEqual([...log.of(flowId)].sort(), names);
  });

  it('[D1] goTo schedules one execution, and an empty goToMany is a definition error', async () => {
    const flowId = await start({ name: 'a', end: 'go on' });
    await arrived(flowId, 'a on');
    assert.deepEqual(await stepStates(system.client, flowId), { 'Branch-2': 'running' });
    const empty = await start();
    assert.equal((await failureOf(system.client, BranchFlow, empty)).failKind, 'definition');
  });

  it('[D2] the Flow completes when completion was asked and no Step is queued or active', async () => {
    const flowId = await start({ name: 'a', end: 'complete' }, { name: 'b', gated: true, end: 'dead end' });
    await arrived(flowId, 'b');
    await ended(flowId, 'Branch-1');
    const { status, completing } = await system.client.describe(flowId);
    assert.deepEqual({ status, completing }, { status: 'running', completing: true });
    open(flowId, 'b');
    await system.client.result(BranchFlow, flowId);
    assert.equal(await statusOf(flowId), 'completed');
  });

  it('[D2] a Step that waits, and one that others start later, put completion off', async () => {
    const flowId = await start(
      { name: 'a', end: 'complete' },
      { name: 'b', gated: true, end: 'go on' },
      { name: 'w', gated: true, end: 'wait' },
    );
    await ended(flowId, 'Branch-1');
    open(flowId, 'b');
    await arrived(flowId, 'b on');
    assert.equal(await statusOf(flowId), 'running');
    open(flowId, 'b on');
    await ended(flowId, 'Branch-3');
    assert.deepEqual(await stepStates(system.client, flowId), { 'Wait-1': 'waiting' });
    await system.client.publish(BranchFlow, flowId, Wakes, 'on');
    await system.client.result(BranchFlow, flowId);
    assert.deepEqual([...log.of(flowId)].sort(), ['a', 'b', 'b on', 'w']);
  });

  for (const [how, status] of [
    ['forceComplete', 'completed'],
    ['forceFail', 'failed'],
  ] as const) {
    it(`[D3] ${how} closes at once: others, running or waiting, are cancelled in the same write`, async () => {
      const { store, client } = system;
      const narrow = ['x', 'y'].map((name) => ({ name, gated: true, end: 'go on' as const }));
      const flowId = await start({ name: 'end', gated: true, end: how }, ...narrow, { name: 'w', end: 'wait' });
      await arrived(flowId, 'end', 'x', 'y');
      await eventually(async () => assert.equal((await stepStates(client, flowId))['Wait-1'], 'waiting'));
      store.keepBatches = true;
      open(flowId, 'end');
      await client.outputs(BranchFlow, flowId);
      store.keepBatches = false;
      const closing = ['ExecuteCompleted', 'StepCancelled', 'StepCancelled', 'StepCancelled', 'FlowClosed'];
      assert.deepEqual(
        store.batches
          .splice(0)
          .map(eventsIn)
          .find((kinds) => kinds.includes('FlowClosed')),
        closing,
      );
      const described = await client.describe(flowId);
      assert.deepEqual([described.status, described.steps], [status, []]);
      // What the cancelled handlers still return starts nothing.
      open(flowId, 'x', 'y');
      await system.client.result(BranchFlow, await start({ name: 'later', end: 'complete' }));
      assert.equal(await statusOf(flowId), status);
      assert.deepEqual((await eventKinds(client, flowId)).slice(-5), closing);
      assert.equal(log.count(flowId, 'x on'), 0);
    });
  }

  it('[D3] forceComplete gives its output, forceFail its reason', async () => {
    const completed = await start({ name: 'out', end: 'forceComplete' });
    assert.equal(await system.client.result(BranchFlow, completed), 'out');
    const failed = await start({ name: 'why', end: 'forceFail' });
    const error = await failureOf(system.client, BranchFlow, failed);
    assert.equal(error.failKind, 'decision');
    assert.deepEqual([(error.cause as Error).name, (error.cause as Error).message], ['RangeError', 'why']);
  });

  it('[D4] deadEnd ends the branch, and a Flow with no Step left keeps running', async () => {
    const flowId = await start({ name: 'a', end: 'dead end' });
    await system.client.waitForStep(BranchFlow, flowId, BranchStep);
    const { status, steps, completing } = await system.client.describe(flowId);
    assert.deepEqual({ status, steps, completing }, { status: 'running', steps: [], completing: false });
    await system.client.publish(BranchFlow, flowId, Wakes, 'still there');
    assert.deepEqual((await system.client.stop(flowId, 'terminate', 'seen')).status, 'terminated');
  });

  it('[D8] result is the only output, and undefined where there is none', async () => {
    const one = await start({ name: 'a', end: 'complete with output' }, { name: 'b', end: 'complete' });
    assert.equal(await system.client.result(BranchFlow, one), 'a');
    const none = await start({ name: 'a', end: 'complete' });
    assert.equal(await system.client.result(BranchFlow, none), undefined);
    assert.deepEqual(await system.client.outputs(BranchFlow, none), []);
  });

  it('[D8] several outputs: result refuses, outputs gives them in the order applied', async () => {
    const names = ['a', 'b', 'c'];
    const flowId = await start(...names.map((name) => ({ name, gated: true, end: 'complete with output' as const })));
    await arrived(flowId, ...names);
    for (const [name, execution] of [
      ['c', 'Branch-3'],
      ['a', 'Branch-1'],
    ] as const) {
      open(flowId, name);
      await ended(flowId, execution);
    }
    open(flowId, 'b');
    assert.deepEqual(await system.client.outputs(BranchFlow, flowId), [
      { stepExecutionId: 'Branch-3', value: 'c' },
      { stepExecutionId: 'Branch-1', value: 'a' },
      { stepExecutionId: 'Branch-2', value: 'b' },
    ]);
    await refuses(system.client.result(BranchFlow, flowId), 'SEVERAL_OUTPUTS', /3 outputs/);
  });
});

describeOnEveryStack('Decision over a crash', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[D2] the request for completion, and outputs given, survive', async () => {
    const flowId = fresh('branches');
    await system.client.start(BranchFlow, flowId, [
      { name: 'a', end: 'complete with output' },
      { name: 'b', gated: true, end: 'dead end' },
    ]);
    await system.client.waitForStep(BranchFlow, flowId, BranchStep);
    await eventually(() => gate.arrived(`${flowId} b`) === 1);
    await system.crash();
    assert.equal((await system.client.describe(flowId)).completing, true);
    await eventually(() => gate.arrived(`${flowId} b`) === 2);
    gate.open(`${flowId} b`);
    assert.equal(await system.client.result(BranchFlow, flowId), 'a');
  });

  it('[D4] a Flow without a Step is open afterwards', async () => {
    const flowId = fresh('branches');
    await system.client.start(BranchFlow, flowId, [{ name: 'a', end: 'dead end' }]);
    await system.client.waitForStep(BranchFlow, flowId, BranchStep);
    await system.crash();
    assert.equal((await system.client.describe(flowId)).status, 'running');
  });

  it('[D3] a closed Flow stays closed, whatever its lost handlers do', async () => {
    const flowId = fresh('branches');
    await system.client.start(BranchFlow, flowId, [
      { name: 'x', gated: true, end: 'go on' },
      { name: 'end', end: 'forceComplete' },
    ]);
    assert.equal(await system.client.result(BranchFlow, flowId), 'end');
    await system.crash();
    gate.open(`${flowId} x`);
    assert.equal(await system.client.result(BranchFlow, flowId), 'end');
    assert.equal((await eventsOf(system.client, flowId, 'FlowClosed')).length, 1);
    assert.equal(log.count(flowId, 'x on'), 0);
  });
});
