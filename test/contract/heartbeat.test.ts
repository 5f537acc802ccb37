import assert from 'node:assert/strict';
import { Flow, gracefulComplete, Step, type StepContext } from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type Processes } from '../support/stacks';

const gate = new Gate();
const log = new Log<unknown>();
const values = ['one', 'two', 'three', 'never sent'] as const;

@Step({ name: 'Beat', heartbeatTimeout: '30s', retry: { initialInterval: 1, maximumAttempts: 5 } })
class BeatStep {
  async execute(how: string, ctx: StepContext) {
    log.add(ctx.flowId, ctx.lastHeartbeat);
    ctx.signal.addEventListener('abort', () => log.add(ctx.flowId, `aborted ${ctx.attempt}`));
    if (how === 'throw' && ctx.attempt < 3) {
      ctx.heartbeat({ page: ctx.attempt });
      throw new Error('again');
    }
    if (how === 'clear' && ctx.attempt < 3) {
      if (ctx.attempt === 1) ctx.heartbeat('x'.repeat(5_000));
      else ctx.heartbeat();
      throw new Error('again');
    }
    if (how === 'silent' && ctx.attempt < 3) {
      if (ctx.attempt === 1) ctx.heartbeat(1);
      throw new Error('again');
    }
    if (how === 'gate') {
      for (const value of values) gate.pass(`${ctx.flowId} ${value}`).then(() => ctx.heartbeat(value));
      await gate.pass(`${ctx.flowId} ${ctx.attempt}`);
    }
    if (how === 'late') {
      gate.pass(`${ctx.flowId} late`).then(() => {
        try {
          ctx.heartbeat('late');
        } catch (error) {
          log.add(ctx.flowId, (error as Error).message);
        }
      });
    }
    return gracefulComplete(ctx.attempt);
  }
}

@Flow()
class BeatFlow {
  static readonly start = BeatStep;
}

const flows = [BeatFlow];

describeOnEveryStack('Heartbeats', flows, (stack) => {
  const system = stack.shared({ flows });

  for (const [how, seen] of [
    ['throw', [undefined, { page: 1 }, { page: 2 }]],
    ['clear', [undefined, 'x'.repeat(5_000), undefined]],
    ['silent', [undefined, 1, 1]],
  ] as const) {
    it(`[X3] the newest value goes with a failure to the next attempt: ${how}`, async () => {
      const flowId = fresh('beat');
      await system.client.start(BeatFlow, flowId, how);
      assert.equal(await system.client.result(BeatFlow, flowId), 3);
      assert.deepEqual(log.of(flowId), seen);
    });
  }

  it('[X3] a heartbeat causes no write and no event', async () => {
    const flowId = fresh('beat');
    await system.client.start(BeatFlow, flowId, 'gate');
    await eventually(() => gate.arrived(`${flowId} 1`) === 1);
    const before = [system.stats.writes, (await eventKinds(system.client, flowId)).length];
    for (const value of values) gate.open(`${flowId} ${value}`);
    await system.advance(25_000);
    assert.deepEqual([system.stats.writes, (await eventKinds(system.client, flowId)).length], before);
    gate.open(`${flowId} 1`);
    await system.client.result(BeatFlow, flowId);
  });

  it('[A6] a heartbeat after the attempt has ended is an error', async () => {
    const flowId = fresh('beat');
    await system.client.start(BeatFlow, flowId, 'late');
    await system.client.result(BeatFlow, flowId);
    gate.open(`${flowId} late`);
    await eventually(() => assert.match(`${log.of(flowId)[1]}`, /had ended/));
  });
});

describeOnEveryStack('Workers that are lost', flows, (stack) => {
  const running = async (system: Processes) => {
    const flowId = fresh('beat');
    await system.client.start(BeatFlow, flowId, 'gate');
    await eventually(() => gate.arrived(`${flowId} 1`) === 1);
    return flowId;
  };
  const failures = async (system: Processes, flowId: string) =>
    (await eventsOf(system.client, flowId, 'AttemptFailed')).map(
      ({ fields }) => (fields.failure as { name: string }).name,
    );

  it('[X2] the attempt of a worker that is silent for longer than the heartbeat timeout fails, and another takes it', async () => {
    await using system = await stack.processes(flows);
    const first = await system.openWorker();
    const flowId = await running(system);
    await first.kill();
    await system.openWorker();
    await system.advance(15_000);
    assert.deepEqual(await failures(system, flowId), []);
    await eventually(async () => {
      await system.advance(1_000);
      assert.equal(gate.arrived(`${flowId} 2`), 1);
    });
    assert.deepEqual(await failures(system, flowId), ['WorkerLost']);
    gate.open(`${flowId} 2`);
    assert.equal(await system.client.result(BeatFlow, flowId), 2);
  });

  it('[X2] as fast when nothing was handed out for a long time before', async () => {
    await using system = await stack.processes(flows);
    const first = await system.openWorker();
    await system.advance(3_600_000);
    const flowId = await running(system);
    await first.kill();
    await system.openWorker();
    await system.advance(45_000);
    await eventually(() => gate.arrived(`${flowId} 2`) === 1);
    gate.open(`${flowId} 2`);
    await system.client.result(BeatFlow, flowId);
  });

  it('[X2] a worker beats by itself for as long as it lives, however long a handler is silent', async () => {
    await using system = await stack.processes(flows);
    await system.openWorker();
    const flowId = await running(system);
    await system.advance(1_800_000);
    assert.deepEqual(await failures(system, flowId), []);
    gate.open(`${flowId} 1`);
    assert.equal(await system.client.result(BeatFlow, flowId), 1);
  });

  it('[X3] the latest value received is given to the next attempt when the worker is lost', async () => {
    await using system = await stack.processes(flows);
    const first = await system.openWorker();
    const flowId = await running(system);
    const beat = (value: (typeof values)[number]) => gate.open(`${flowId} ${value}`);
    beat('one');
    await system.advance(2_000);
    beat('two');
    beat('three');
    await system.advance(2_000);
    await first.kill();
    beat('never sent');
    await system.openWorker();
    await eventually(async () => {
      await system.advance(1_000);
      assert.equal(gate.arrived(`${flowId} 2`), 1);
    });
    gate.open(`${flowId} 2`);
    await system.client.result(BeatFlow, flowId);
    assert.deepEqual(
      log.of(flowId).filter((entry) => entry !== 'aborted 1'),
      [undefined, 'three'],
    );
  });

  it('[X10] [X2] an engine that is lost burns no attempt of a living worker: it reports to the next owner', async () => {
    await using system = await stack.processes(flows);
    await system.openWorker({ standing: false });
    const flowId = await running(system);
    const queued = fresh('beat');
    await system.crashEngine();
    await system.client.start(BeatFlow, queued, 'return');
    assert.deepEqual(await stepStates(system.client, flowId), { 'Beat-1': 'running' });
    await system.advance(120_000);
    gate.open(`${flowId} 1`);
    assert.equal(await system.client.result(BeatFlow, flowId), 1);
    assert.deepEqual(await failures(system, flowId), []);
    assert.equal(await system.client.result(BeatFlow, queued), 1);
    assert.deepEqual(log.of(flowId), [undefined]);
  });

  it('[X5] a result that nobody heard is sent again, and taken once', async () => {
    await using system = await stack.processes(flows);
    await system.openWorker();
    const flowId = await running(system);
    let failing = true;
    system.store.faults = {
      afterWrite: () => {
        if (failing) throw new Error('the store had a bad moment');
      },
    };
    gate.open(`${flowId} 1`);
    await system.advance(3_000);
    failing = false;
    const result = system.client.result(BeatFlow, flowId);
    await system.advance(20_000);
    assert.equal(await result, 1);
    assert.deepEqual(log.of(flowId), [undefined]);
    const kinds = await eventKinds(system.client, flowId);
    assert.equal(kinds.filter((kind) => kind === 'ExecuteCompleted').length, 1);
  });

  it('[X10] one whose worker is gone with the engine fails, with one attempt used', async () => {
    await using system = await stack.processes(flows);
    const first = await system.openWorker();
    const flowId = await running(system);
    await first.kill();
    await system.crashEngine();
    await system.openWorker();
    await eventually(async () => {
      await system.advance(1_000);
      assert.equal(gate.arrived(`${flowId} 2`), 1);
    });
    gate.open(`${flowId} 2`);
    assert.equal(await system.client.result(BeatFlow, flowId), 2);
    assert.deepEqual(await failures(system, flowId), ['WorkerLost']);
  });
});
