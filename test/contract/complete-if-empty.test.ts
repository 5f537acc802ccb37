import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  completeIfEmpty,
  DurableAttribute,
  DurableChannel,
  DurableChannelMap,
  deadEnd,
  Flow,
  HoldfastError,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Channel()
class Jobs extends DurableChannel<string> {}

@Channel()
class Byways extends DurableChannelMap<string> {}

@Attribute()
class Done extends DurableAttribute<number> {}

/** Takes what there is; completes when there is no more. */
@Step({ name: 'Work' })
class WorkStep {
  constructor(
    private readonly jobs: Jobs,
    private readonly byways: Byways,
    private readonly done: Done,
  ) {}
  waitFor(first: boolean) {
    return until(first ? this.jobs.takeAtLeast(1) : this.jobs.takeUpTo(3));
  }
  async execute(_first: boolean, ctx: StepContext) {
    const jobs = this.jobs.received();
    for (const job of jobs) log.add(ctx.flowId, job);
    const done = (this.done.get() ?? 0) + jobs.length;
    this.done.set(done);
    if (jobs.includes('gate')) await gate.pass(ctx.flowId);
    if (jobs.includes('publish')) this.jobs.publish('published');
    void this.byways;
    return completeIfEmpty([Jobs, Byways], done, to(WorkStep, false));
  }
}

@Step({ name: 'Idle' })
class IdleStep {
  constructor(private readonly byways: Byways) {}
  waitFor() {
    return until(this.byways.take('a', 1));
  }
  execute() {
    return deadEnd();
  }
}

@Flow()
class WorkFlow {
  static readonly start = WorkStep;
  static readonly steps = [IdleStep];
  constructor(private readonly jobs: Jobs) {}

  @Rpc()
  async add(job: string, ctx: RpcContext) {
    if (job.startsWith('slow')) await gate.pass(`${ctx.flowId} ${job}`);
    this.jobs.publish(job);
    return job;
  }

  @Rpc()
  idle(ctx: RpcContext) {
    ctx.start(IdleStep);
  }
}

const flows = [WorkFlow];

describeOnEveryStack('completeIfEmpty', flows, (stack) => {
  const system = stack.shared({ flows });
  const open = async (on: System = system) => {
    const flowId = fresh('work');
    await on.client.start(WorkFlow, flowId, true);
    return { flowId, rpc: on.client.rpc(WorkFlow, flowId) };
  };
  const publish = (flowId: string, job: string) => system.client.publish(WorkFlow, flowId, Jobs, job);

  it('[D5] completes with its output when the Channels are empty, and cancels what else there is', async () => {
    const { flowId, rpc } = await open();
    await rpc.idle();
    await publish(flowId, 'a');
    assert.equal(await system.client.result(WorkFlow, flowId), 1);
    const { status, steps } = await system.client.describe(flowId);
    assert.deepEqual([status, steps], ['completed', []]);
  });

  it('[D5] goes on while a Channel holds a message: of a client, of the deciding Step itself, and under any key', async () => {
    const { flowId } = await open();
    await publish(flowId, 'gate');
    await eventually(() => gate.arrived(flowId) === 1);
    await publish(flowId, 'b');
    await publish(flowId, 'publish');
    await system.client.publish(WorkFlow, flowId, Byways, 'x', { key: 'k' });
    gate.open(flowId);
    // The key of the map is never emptied, so that it goes on for ever.
    await system.client.waitForStep(WorkFlow, flowId, WorkStep, { number: 5 });
    assert.deepEqual(log.of(flowId).slice(0, 4), ['gate', 'b', 'publish', 'published']);
    assert.equal((await system.client.describe(flowId)).status, 'running');
    await system.client.stop(flowId, 'terminate', 'enough');
  });

  it('[D5] RPCs that have started are finished first, and what they publish is not left behind', async () => {
    const { flowId, rpc } = await open();
    const slow = rpc.add('slow');
    await eventually(() => gate.arrived(`${flowId} slow`) === 1);
    await publish(flowId, 'a');
    await system.client.waitForStep(WorkFlow, flowId, WorkStep);
    // New ones queue meanwhile: this one would run at once.
    let added = false;
    const later = rpc.add('later').then(
      () => {
        added = true;
      },
      () => {},
    );
    await system.quiet();
    assert.deepEqual([added, (await system.client.describe(flowId)).status], [false, 'running']);
    gate.open(`${flowId} slow`);
    assert.equal(await slow, 'slow');
    await later;
    const total = await system.client.result(WorkFlow, flowId);
    assert.deepEqual(log.of(flowId).slice(0, 2), ['a', 'slow']);
    assert.equal(total, added ? 3 : 2);
    const kinds = await eventKinds(system.client, flowId);
    assert.ok(kinds.indexOf('RpcCompleted') < kinds.indexOf('CloseChecked'));
  });

  it('[D5] a decision that waits for an RPC is kept over a crash', async () => {
    const own = await stack.open({ flows });
    const { flowId, rpc } = await open(own);
    const lost = rpc.add('slow').catch(() => {});
    await eventually(() => gate.arrived(`${flowId} slow`) === 1);
    await own.client.publish(WorkFlow, flowId, Jobs, 'a');
    await own.client.waitForStep(WorkFlow, flowId, WorkStep);
    await own.crash();
    await lost;
    assert.equal(await own.client.result(WorkFlow, flowId, { deadline: '20s' }), 1);
    gate.open(`${flowId} slow`);
  });

  it('[D5] [C5] with many publishers and callers at a time, exactly what was accepted is processed', async () => {
    for (let round = 0; round < 3; round++) {
      const { flowId, rpc } = await open();
      const accepted: string[] = [];
      const attempt = async (name: string, call: () => Promise<unknown>) => {
        try {
          await call();
          accepted.push(name);
          return true;
        } catch (error) {
          assert.ok(error instanceof HoldfastError);
          assert.ok(['FLOW_NOT_ACTIVE', 'FLOW_CLOSING'].includes(error.code), error.message);
          return false;
        }
      };
      const publisher = async (who: number) => {
        for (let i = 0; i < 40; i++) {
          const name = `${who}.${i}`;
          const call = who % 3 === 0 ? () => rpc.add(name) : () => publish(flowId, name);
          if (!(await attempt(name, call))) return;
          // Pauses of different lengths, so that the Channel runs empty at some time.
          for (let turns = (who * 7 + i * 13) % (i * 4 + 1); turns > 0; turns--) await new Promise(setImmediate);
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, who) => publisher(who)));
      assert.equal(await system.client.result(WorkFlow, flowId), accepted.length);
      assert.deepEqual([...log.of(flowId)].sort(), accepted.sort());
      assert.deepEqual((await system.client.describe(flowId)).unread, []);
    }
  });

  it('[D5] in one turn with the decision, what comes before it is processed and what comes after is refused', async () => {
    const { flowId } = await open();
    await publish(flowId, 'gate');
    await eventually(() => gate.arrived(flowId) === 1);
    gate.open(flowId);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        publish(flowId, `m${i}`).then(
          () => 1,
          () => 0,
        ),
      ),
    );
    const accepted = outcomes.reduce<number>((sum, one) => sum + one, 0);
    if (accepted < 50) await refuses(publish(flowId, 'late'), 'FLOW_NOT_ACTIVE');
    assert.equal(await system.client.result(WorkFlow, flowId), accepted + 1);
  });
});
