import assert from 'node:assert/strict';
import {
  Attribute,
  allOf,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Lock,
  Query,
  Step,
  type StepContext,
  subFlow,
  Timer,
  to,
  until,
} from '../../index';
import { encodeRecord } from '../../lib/values';
import { eventually } from '../support/eventually';
import { refuses } from '../support/expect';
import { fresh, Gate } from '../support/observers';
import { pastDeadline } from '../support/past-deadline';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();

@Attribute(Lock.exclusive)
class Till extends DurableAttribute<number> {}

@Attribute()
class Note extends DurableAttribute<string> {}

@Channel()
class Orders extends DurableChannel<string> {}

@Channel()
class Ends extends DurableChannel<string> {}

@Step({ name: 'Begin' })
class BeginStep {
  constructor(private readonly note: Note) {}
  execute(how: 'busy' | 'wide') {
    this.note.set(how);
    if (how === 'wide') return goToMany(to(WaitStep), ...Array.from({ length: 999 }, () => to(WaitStep)));
    return goToMany(to(WaitStep), to(HoldStep), to(HoldStep), to(FailStep), to(ParentStep));
  }
}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(private readonly orders: Orders) {}
  waitFor() {
    return anyOf(this.orders.takeBetween(5, 9, 'five'), Timer.after('2h', 'late'), Timer.after('1h', 'soon'));
  }
  execute() {
    return gracefulComplete();
  }
}

@Step({ name: 'Hold' })
class HoldStep {
  constructor(private readonly till: Till) {}
  async execute(_: undefined, ctx: StepContext) {
    await gate.pass(`${ctx.flowId} ${ctx.stepExecutionId}`);
    this.till.set(1);
    return goTo(EndStep);
  }
}

@Step({ name: 'Fail', retry: { initialInterval: '10m' } })
class FailStep {
  execute(_: undefined, ctx: StepContext) {
    if (ctx.attempt > 0) throw new RangeError(`no ${ctx.attempt} of ${'x'.repeat(5_000)}`);
    return goTo(EndStep);
  }
}

@Step({ name: 'Parent' })
class ParentStep {
  waitFor(_: undefined, ctx: StepContext) {
    return allOf(subFlow(ChildFlow, undefined, { parentClose: 'cancel', flowId: `${ctx.flowId}/child` }));
  }
  execute() {
    return goTo(EndStep);
  }
}

@Step({ name: 'End' })
class EndStep {
  constructor(private readonly ends: Ends) {}
  waitFor() {
    return until(this.ends.take(1));
  }
  execute() {
    return gracefulComplete('ended');
  }
}

@Flow({ name: 'DescribedChild' })
class ChildFlow {
  static readonly start = EndStep;
}

@Flow({ name: 'Described' })
class BusyFlow {
  static readonly start = BeginStep;
  static readonly steps = [WaitStep, HoldStep, FailStep, ParentStep, EndStep];
  constructor(private readonly note: Note) {}

  @Query({ deadline: '2s' })
  read() {
    return this.note.get();
  }
}

const flows = [BusyFlow, ChildFlow];

describeOnEveryStack('describe', flows, (stack) => {
  it('[K1] tells what a run is doing, and the same, with Attributes and history, when every worker has stopped', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('described');
    const startedAt = system.clock.now();
    await system.client.start(BusyFlow, flowId, 'busy');
    for (const order of ['a', 'b']) await system.client.publish(BusyFlow, flowId, Orders, order);
    await eventually(async () => {
      const { counts, children } = await system.client.describe(flowId);
      const { waiting, backoff, running, locked } = counts.byState;
      assert.deepEqual({ waiting, backoff, running, locked }, { waiting: 2, backoff: 1, running: 1, locked: 1 });
      assert.equal(children[0]?.status, 'running');
      assert.equal((await system.client.describe(`${flowId}/child`)).steps[0]?.state, 'waiting');
      assert.equal(gate.arrived(`${flowId} Hold-1`), 1);
    });
    const look = async () => {
      const { client } = system;
      const history = await client.history(flowId);
      return {
        busy: await client.describe(flowId),
        child: await client.describe(`${flowId}/child`),
        note: (await client.attributes(BusyFlow, flowId)).get(Note),
        history,
      };
    };
    const before = await look();
    const { busy, child } = before;
    assert.deepEqual(
      busy.steps.map(({ stepExecutionId, state, method, attempt }) => [stepExecutionId, state, method, attempt]),
      [
        ['Wait-1', 'waiting', null, 0],
        ['Hold-1', 'running', 'execute', 1],
        ['Hold-2', 'locked', 'execute', 0],
        ['Fail-1', 'backoff', 'execute', 1],
        ['Parent-1', 'waiting', null, 0],
      ],
    );
    const [wait, hold, , fail, parent] = busy.steps;
    const hour = 3_600_000;
    const [late, soon] = [wait!.since + 2 * hour, wait!.since + hour];
    assert.ok(wait!.since >= startedAt);
    assert.deepEqual(wait!.waitsFor, [
      { kind: 'channel', id: 'five', channel: 'Orders', key: undefined, min: 5, max: 9 },
      { kind: 'timer', id: 'late', dueAt: late, skipped: false },
      { kind: 'timer', id: 'soon', dueAt: soon, skipped: false },
    ]);
    assert.equal(wait!.dueAt, soon);
    assert.deepEqual(busy.timers, [
      { stepExecutionId: 'Wait-1', id: 'soon', dueAt: soon },
      { stepExecutionId: 'Wait-1', id: 'late', dueAt: late },
    ]);
    assert.deepEqual(parent!.waitsFor, [{ kind: 'subFlow', id: null, flowId: `${flowId}/child` }]);
    assert.ok(typeof hold!.worker === 'string');
    assert.equal(fail!.nextRetryAt, fail!.since + 600_000);
    assert.match(fail!.lastFailure!.message, /^no 1 of xxx/);
    assert.deepEqual(
      busy.failures.map(({ stepExecutionId, attempt, name }) => [stepExecutionId, attempt, name]),
      [['Fail-1', 1, 'RangeError']],
    );
    assert.ok(busy.failures[0]!.message.length <= 1_000);
    assert.deepEqual(busy.locks, [{ attribute: 'Till', key: undefined, holders: ['Hold-1'], waiting: ['Hold-2'] }]);
    assert.deepEqual(busy.unread, [{ channel: 'Orders', key: undefined, messages: 2 }]);
    assert.deepEqual(busy.children, [
      {
        flowId: `${flowId}/child`,
        flow: 'DescribedChild',
        runId: child.runId,
        status: 'running',
        parentClose: 'cancel',
        stepExecutionId: 'Parent-1',
      },
    ]);
    const { byState: _, ...counts } = busy.counts;
    assert.deepEqual(counts, {
      steps: 5,
      timers: 2,
      failures: 1,
      unreadChannels: 1,
      unreadMessages: 2,
      locks: 1,
      children: 1,
    });
    assert.deepEqual([child.parents, busy.parents], [[{ flowId }], []]);
    assert.deepEqual([busy.completing, busy.closing, busy.blocked], [false, null, []]);
    await system.crash({ slots: 0, callSlots: 0 });
    // The attempt of a worker that is gone fails, and its lock stays with the call.
    await eventually(async () => assert.equal((await system.client.describe(flowId)).counts.byState.running, 0));
    const after = await look();
    assert.equal(after.note, 'busy');
    const comparable = ({ events: _events, counts: _counts, steps, failures: _failures, ...rest }: typeof busy) => ({
      ...rest,
      steps: steps.filter(({ step }) => step !== 'Hold'),
    });
    assert.deepEqual(comparable(after.busy), comparable(busy));
    assert.deepEqual(after.child, child);
    assert.deepEqual(after.history.slice(0, before.history.length), before.history);
  });

  it('[K1] [R8] reads of open and closed runs need no worker; a Query says NoWorkerError within its deadline', async () => {
    const system = await stack.open({ flows });
    const [open, closed] = [fresh('described'), fresh('described')];
    for (const flowId of [open, closed]) {
      await system.client.start(BusyFlow, flowId, 'busy');
      await eventually(async () => assert.equal((await system.client.describe(flowId)).counts.byState.waiting, 2));
    }
    await system.client.publish(BusyFlow, closed, Orders, 'unread');
    await system.client.stop(closed, 'fail', 'enough');
    const closedBefore = [await system.client.describe(closed), await system.client.history(closed)];
    await system.crash({ slots: 0, callSlots: 0 });
    const { client } = system;
    assert.deepEqual([await client.describe(closed), await client.history(closed)], closedBefore);
    const { status, failure, unread, steps } = await client.describe(closed);
    assert.deepEqual(
      [status, failure?.message, unread, steps],
      ['failed', 'enough', [{ channel: 'Orders', key: undefined, messages: 1 }], []],
    );
    for (const flowId of [open, closed]) {
      assert.equal((await client.attributes(BusyFlow, flowId)).get(Note), 'busy');
      assert.ok((await client.history(flowId)).length > 5);
      const asked = refuses(client.rpc(BusyFlow, flowId, { deadline: '10s' }).read(), 'NO_WORKER');
      // What is asked after it is answered when the call has come.
      await client.describe(flowId);
      await pastDeadline(system, 10_000);
      await asked;
    }
  });

  it('[K1] a description of 1,000 executions holds counts and a first page, and is small', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('described');
    await system.client.start(BusyFlow, flowId, 'wide');
    const described = await eventually(async () => {
      const found = await system.client.describe(flowId);
      assert.equal(found.counts.byState.waiting, 1_000);
      return found;
    }, 30_000);
    assert.deepEqual([described.counts.steps, described.counts.timers], [1_000, 2_000]);
    assert.deepEqual([described.steps.length, described.timers.length], [100, 100]);
    assert.ok(encodeRecord(described).length < 100_000);
  });
});
