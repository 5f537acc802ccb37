import assert from 'node:assert/strict';
import { deadEnd, Flow, goTo, gracefulComplete, Step, type StepContext, Timer, until } from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, failureOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type Processes } from '../support/stacks';

const gate = new Gate();
const log = new Log<unknown>();

@Step({ name: 'Work', retry: { initialInterval: 1, maximumAttempts: 3 } })
class WorkStep {
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, `attempt ${ctx.attempt} after ${ctx.lastHeartbeat}`);
    ctx.heartbeat('half');
    ctx.signal.addEventListener('abort', () => log.add(ctx.flowId, 'aborted'));
    await gate.pass(`${ctx.flowId} ${log.of(ctx.flowId).filter((entry) => `${entry}`.startsWith('attempt')).length}`);
    return gracefulComplete(ctx.attempt);
  }
}

@Flow()
class WorkFlow {
  static readonly start = WorkStep;
}

@Step({ name: 'Recover' })
class RecoverStep {
  execute(_input: undefined, ctx: StepContext) {
    return gracefulComplete({ progress: ctx.recovery!.progress, attempts: ctx.recovery!.attempts });
  }
}

@Step({ name: 'Start', startTimeout: '10s', retry: { maximumAttempts: 1 }, onFailure: () => RecoverStep })
class StartStep {
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'entered');
    await gate.pass(ctx.flowId);
    return deadEnd();
  }
}

@Flow()
class StartFlow {
  static readonly start = StartStep;
  static readonly steps = [RecoverStep];
}

@Flow({ durability: 'ASYNC', name: 'LazyStart' })
class LazyStartFlow {
  static readonly start = StartStep;
  static readonly steps = [RecoverStep];
}

@Step({ name: 'Hang' })
class HangStep {
  async execute(how: 'hang' | 'end', ctx: StepContext) {
    log.add(ctx.flowId, 'entered');
    if (how === 'hang') await new Promise(() => {});
    return gracefulComplete('fine');
  }
}

@Flow()
class HangFlow {
  static readonly start = HangStep;
}

const flows = [WorkFlow, StartFlow, LazyStartFlow, HangFlow];

describeOnEveryStack('Drain', flows, (stack) => {
  // In processes of their own workers always look for their work.
  for (const standing of stack.isCluster ? [false] : [true, false]) {
    const kind = standing ? 'given its work' : 'looking for its work';
    const running = async (system: Processes) => {
      const worker = await system.openWorker({ standing });
      const flowId = fresh('drain');
      await system.client.start(WorkFlow, flowId);
      await eventually(() => gate.arrived(`${flowId} 1`) === 1);
      return { worker, flowId };
    };

    it(`[X6] a worker that closes lets its handlers end: ${kind}`, async () => {
      await using system = await stack.processes(flows);
      const worker = await system.openWorker({ standing, settings: { graceMs: 30_000 } });
      const flowId = fresh('drain');
      await system.client.start(WorkFlow, flowId);
      await eventually(() => gate.arrived(`${flowId} 1`) === 1);
      const closing = worker.close();
      const later = fresh('drain');
      await system.client.start(WorkFlow, later);
      await system.advance(20_000);
      assert.deepEqual(log.of(later), []);
      assert.deepEqual(await stepStates(system.client, later), { 'Work-1': 'ready' });
      gate.open(`${flowId} 1`);
      await closing;
      assert.equal(await system.client.result(WorkFlow, flowId), 1);
      assert.ok(!log.of(flowId).includes('aborted'));
    });

    it(`[X6] what does not end is aborted and given back, which uses no attempt and keeps its heartbeat: ${kind}`, async () => {
      await using system = await stack.processes(flows);
      const { worker, flowId } = await running(system);
      const closing = worker.close();
      await eventually(async () => {
        await system.advance(1_000);
        assert.deepEqual(await stepStates(system.client, flowId), { 'Work-1': 'ready' });
      });
      await closing;
      assert.ok(log.of(flowId).includes('aborted'));
      await system.openWorker({ standing });
      await eventually(() => gate.arrived(`${flowId} 2`) === 1);
      // What the first does from here on counts no more.
      gate.open(`${flowId} 1`);
      gate.open(`${flowId} 2`);
      assert.equal(await system.client.result(WorkFlow, flowId), 1);
      assert.deepEqual(
        log.of(flowId).filter((entry) => entry !== 'aborted'),
        ['attempt 1 after undefined', 'attempt 1 after half'],
      );
      assert.equal((await eventsOf(system.client, flowId, 'AttemptReturned')).length, 1);
      assert.equal((await eventsOf(system.client, flowId, 'AttemptFailed')).length, 0);
    });
  }

  it('[X9] progress is NOT_STARTED where no worker ever took it, and NOT_COMPLETED for ASYNC', async () => {
    await using system = await stack.processes(flows);
    const [sync, lazy] = [fresh('start'), fresh('start')];
    await system.client.start(StartFlow, sync);
    await system.client.start(LazyStartFlow, lazy);
    await system.advance(11_000);
    await system.openWorker();
    assert.deepEqual(await system.client.result(StartFlow, sync), { progress: 'NOT_STARTED', attempts: 0 });
    assert.deepEqual(await system.client.result(LazyStartFlow, lazy), { progress: 'NOT_COMPLETED', attempts: 0 });
  });

  it('[X9] progress is NOT_COMPLETED where a handler was entered, although its task was given back', async () => {
    await using system = await stack.processes(flows);
    const worker = await system.openWorker();
    const flowId = fresh('start');
    await system.client.start(StartFlow, flowId);
    await eventually(() => gate.arrived(flowId) === 1);
    const closing = worker.close();
    await eventually(async () => {
      await system.advance(100);
      assert.deepEqual(await stepStates(system.client, flowId), { 'Start-1': 'ready' });
    });
    await closing;
    await system.advance(11_000);
    await system.openWorker();
    assert.deepEqual(await system.client.result(StartFlow, flowId), { progress: 'NOT_COMPLETED', attempts: 0 });
    gate.open(flowId);
  });

  it('[X11] a handler that never returns does not stop the others of its worker', async () => {
    await using system = await stack.processes(flows);
    await system.openWorker({ settings: { slots: 3 } });
    const hanging = fresh('hang');
    await system.client.start(HangFlow, hanging, 'hang');
    await eventually(() => log.of(hanging).length === 1);
    for (let i = 0; i < 10; i++) {
      const flowId = fresh('hang');
      await system.client.start(HangFlow, flowId, 'end');
      assert.equal(await system.client.result(HangFlow, flowId), 'fine');
    }
    // Its time ends it: the default is 2 h.
    await system.client.stop(hanging, 'fail', 'enough');
    assert.equal((await failureOf(system.client, HangFlow, hanging)).failKind, 'client');
  });
});

@Step({ name: 'Change' })
class OldStep {
  waitFor(_input: number) {
    return until(Timer.after('1h'));
  }
  execute(n: number, ctx: StepContext) {
    log.add(ctx.flowId, `old ${n}`);
    return goTo(OldStep, n + 1);
  }
}

@Flow({ name: 'Change' })
class OldFlow {
  static readonly start = OldStep;
}

@Step({ name: 'Added' })
class AddedStep {
  execute(n: number, ctx: StepContext) {
    log.add(ctx.flowId, `added ${n}`);
    return gracefulComplete(n);
  }
}

@Step({ name: 'Change' })
class NewStep {
  execute(n: number, ctx: StepContext) {
    log.add(ctx.flowId, `new ${n}`);
    return goTo(AddedStep, n);
  }
}

@Flow({ name: 'Change' })
class NewFlow {
  static readonly start = NewStep;
  static readonly steps = [AddedStep];
}

describeOnEveryStack('New code', [OldFlow, NewFlow], (stack) => {
  it('[V1] [V2] applies from the next method call on, and nothing is replayed', async () => {
    await using system = await stack.processes([OldFlow]);
    const before = await system.openWorker();
    const flowId = fresh('change');
    await system.client.start(OldFlow, flowId, 1);
    const waiting = (id: string) =>
      eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { [id]: 'waiting' }));
    await waiting('Change-1');
    await system.advance(3_601_000);
    await waiting('Change-2');
    await before.close();
    await system.openWorker({ flows: [NewFlow] });
    await system.advance(3_601_000);
    assert.equal(await system.client.result(OldFlow, flowId), 2);
    assert.deepEqual(log.of(flowId), ['old 1', 'new 2', 'added 2']);
  });
});
