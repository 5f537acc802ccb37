import assert from 'node:assert/strict';
import {
  Attribute,
  anyOf,
  Channel,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  initially,
  Query,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  Timer,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, failureOf, refuses } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const log = new Log();
const keys = new Log();

@Attribute()
class Sum extends DurableAttribute<number> {}

@Attribute()
class Scratch extends DurableAttribute<string> {}

@Channel()
class Numbers extends DurableChannel<number> {}

/** Takes one number, or lets a timer fire, and continues as new each time; `left` numbers are still to come. */
@Step({ name: 'Take' })
class TakeStep {
  constructor(
    private readonly numbers: Numbers,
    private readonly sum: Sum,
    private readonly scratch: Scratch,
  ) {}
  waitFor(_left: number) {
    return anyOf(this.numbers.take(1), Timer.after(5, 'tick'));
  }
  execute(left: number, ctx: StepContext) {
    keys.add(ctx.flowId, ctx.idempotencyKey);
    const [number] = this.numbers.received();
    if (number === undefined) return continueAsNew(SumFlow, left);
    log.add(ctx.flowId, `${number}`);
    if (number < 0) throw new Error('negative');
    this.sum.set((this.sum.get() ?? 0) + number);
    this.scratch.set(`after ${number}`);
    if (left === 1) return goTo(EndStep);
    return continueAsNew(SumFlow, left - 1, { attributes: [Sum] });
  }
}

@Step({ name: 'End' })
class EndStep {
  constructor(
    private readonly sum: Sum,
    private readonly scratch: Scratch,
  ) {}
  execute() {
    return gracefulComplete({ sum: this.sum.get(), scratch: this.scratch.get() });
  }
}

@Step({ name: 'Chain', retry: { maximumAttempts: 1 } })
class ChainStep {
  constructor(private readonly scratch: Scratch) {}
  execute(left: number, ctx: StepContext) {
    log.add(ctx.flowId, `${left} ${this.scratch.get() ?? 'nothing'} ${ctx.from.kind} ${ctx.stepExecutionId}`);
    this.scratch.set(`run ${left}`);
    if (left === -1) throw new Error('the chain broke');
    if (left === 10) return continueAsNew(ChainFlow, -1);
    if (left === 0) return gracefulComplete('end');
    if (left === 3) return continueAsNew(ChainFlow, left - 1, { attributes: [] });
    return continueAsNew(ChainFlow, left - 1);
  }
}

@Flow()
class SumFlow {
  static readonly start = TakeStep;
  static readonly steps = [EndStep];
  constructor(
    private readonly numbers: Numbers,
    private readonly sum: Sum,
  ) {}

  @Rpc()
  add(number: number, ctx: RpcContext) {
    this.numbers.publish(number);
    return ctx.requestId;
  }

  @Query()
  total() {
    return this.sum.get();
  }
}

@Flow()
class ChainFlow {
  static readonly start = ChainStep;
}

const flows = [SumFlow, ChainFlow];

/** Runs of a chain, oldest first. */
async function chainOf(system: System, flowId: string) {
  const runs = [await system.client.describe(flowId)];
  while (runs[0]!.previousRunId !== null) {
    runs.unshift(await system.client.describe(flowId, { runId: runs[0]!.previousRunId! }));
  }
  return runs;
}

describeOnEveryStack('Continue-as-new', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[N2] [D7] the run closes as continuedAsNew, the next one begins with its input and an empty history', async () => {
    const flowId = fresh('chain');
    const { runId } = await system.client.start(ChainFlow, flowId, 4, { attributes: [initially(Scratch, 'first')] });
    assert.equal(await system.client.result(ChainFlow, flowId), 'end');
    const runs = await chainOf(system, flowId);
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['continuedAsNew', 'continuedAsNew', 'continuedAsNew', 'continuedAsNew', 'completed'],
    );
    assert.equal(runs[0]!.runId, runId);
    assert.equal(new Set(runs.map((run) => run.runId)).size, 5);
    for (const [i, run] of runs.entries()) {
      assert.deepEqual([run.previousRunId, run.nextRunId], [runs[i - 1]?.runId ?? null, runs[i + 1]?.runId ?? null]);
      const history = await system.client.history(flowId, { runId: run.runId });
      assert.deepEqual(
        history.map(({ number }) => number),
        Array.from({ length: run.events }, (_, n) => n + 1),
      );
      assert.equal(history[0]!.kind, i === 0 ? 'FlowStarted' : 'RunContinued');
      assert.equal(history.at(-1)!.kind, 'FlowClosed');
      assert.ok(run.events <= 6, `${run.events} events`);
    }
    // Attributes go along unless `carry` says otherwise; the closed runs keep what they had.
    assert.deepEqual(log.of(flowId), [
      '4 first start Chain-1',
      '3 run 4 start Chain-2',
      '2 nothing start Chain-3',
      '1 run 2 start Chain-4',
      '0 run 1 start Chain-5',
    ]);
    const scratch = async (n: number) =>
      (await system.client.attributes(ChainFlow, flowId, { runId: runs[n]!.runId })).get(Scratch);
    assert.deepEqual([await scratch(0), await scratch(1), await scratch(2)], ['run 4', 'run 3', 'run 2']);
  });

  it('[N4] [K3] who waits for a result follows the chain to its end, also by the id of an old run', async () => {
    const flowId = fresh('sum');
    const { runId } = await system.client.start(SumFlow, flowId, 3);
    const early = system.client.result(SumFlow, flowId);
    const byRun = system.client.result(SumFlow, flowId, { runId });
    for (const number of [1, 2]) await system.client.publish(SumFlow, flowId, Numbers, number);
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).runId, runId));
    const middle = system.client.result(SumFlow, flowId, { runId });
    await system.client.publish(SumFlow, flowId, Numbers, 3);
    const end = { sum: 6, scratch: undefined };
    for (const result of await Promise.all([early, byRun, middle, system.client.result(SumFlow, flowId, { runId })])) {
      assert.deepEqual({ ...result, scratch: undefined }, end);
    }
    const { runId: last } = await system.client.describe(flowId);
    const full = await system.client.result(SumFlow, flowId, { runId, throwOnFailure: false });
    assert.deepEqual([full.status, full.runId], ['completed', last]);
    assert.equal((await system.client.outputs(SumFlow, flowId, { runId })).length, 1);
  });

  it('[K3] a chain that fails rejects with its failure as cause, or returns it', async () => {
    const flowId = fresh('chain');
    const { runId } = await system.client.start(ChainFlow, flowId, 10);
    const error = await refuses(system.client.result(ChainFlow, flowId, { runId }), 'FLOW_FAILED', /the chain broke/);
    assert.equal((error.cause as Error).message, 'the chain broke');
    const returned = await system.client.result(ChainFlow, flowId, { runId, throwOnFailure: false });
    assert.equal(returned.status, 'failed');
    assert.equal((await failureOf(system.client, ChainFlow, flowId)).failKind, 'worker');
  });

  it('[S10] [N2] continuing after every Step loses and doubles nothing under quick publishes, RPCs and timers', async () => {
    const flowId = fresh('sum');
    const count = 200;
    await system.client.start(SumFlow, flowId, count);
    const values = Array.from({ length: count }, (_, i) => i + 1);
    const rpc = system.client.rpc(SumFlow, flowId);
    const sent = Promise.all(
      values.map(async (value, i) => {
        for (let turns = (i * 17) % 60; turns > 0; turns--) await new Promise(setImmediate);
        if (i % 4 === 0) await rpc.add(value);
        else await system.client.publish(SumFlow, flowId, Numbers, value);
      }),
    );
    const totals: number[] = [];
    const watching = (async () => {
      while ((await system.client.describe(flowId)).status === 'running') totals.push((await rpc.total()) ?? 0);
    })();
    const output = await system.client.result(SumFlow, flowId);
    await sent;
    await watching;
    assert.equal(output.sum, (count * (count + 1)) / 2);
    assert.deepEqual(
      log
        .of(flowId)
        .map(Number)
        .sort((a, b) => a - b),
      values,
    );
    assert.deepEqual(
      totals,
      [...totals].sort((a, b) => a - b),
    );
    const runs = await chainOf(system, flowId);
    assert.ok(runs.length > count - 1);
    // [S2] [S10] Executions are numbered on, so that no idempotency key comes again.
    assert.equal(new Set(keys.of(flowId)).size, keys.of(flowId).length);
    assert.ok(Math.max(...runs.map(({ events }) => events)) < 2 * count);
  });

  it('[N2] messages keep their order over runs', async () => {
    const flowId = fresh('sum');
    const values = Array.from({ length: 50 }, (_, i) => i);
    await system.client.start(SumFlow, flowId, values.length);
    await system.client.publishAll(
      SumFlow,
      flowId,
      values.map((value) => ({ channel: Numbers, value })),
    );
    await system.client.result(SumFlow, flowId);
    assert.deepEqual(log.of(flowId).map(Number), values);
  });

  it('[N2] [P6] a crash right after continuing, at any write, loses and doubles nothing', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('sum');
    await own.client.start(SumFlow, flowId, 6);
    for (let value = 1; value <= 6; value++) {
      await own.client.publish(SumFlow, flowId, Numbers, value, { messageId: `m${value}` });
      const { runId } = await own.client.describe(flowId);
      if (value < 6) await eventually(async () => assert.notEqual((await own.client.describe(flowId)).runId, runId));
      await own.crash();
      // A repeat of what the former run has taken is known in the next one.
      await own.client.publish(SumFlow, flowId, Numbers, value, { messageId: `m${value}` }).catch(({ code }) => {
        assert.equal(code, 'FLOW_NOT_ACTIVE');
      });
    }
    assert.equal((await own.client.result(SumFlow, flowId)).sum, 21);
    for (const { status, runId, events } of await chainOf(own, flowId)) {
      assert.ok(status === 'continuedAsNew' || status === 'completed');
      assert.equal((await own.client.history(flowId, { runId })).length, events);
    }
  });

  it('[N2] the closed run takes nothing more, and its history ends there', async () => {
    const flowId = fresh('sum');
    const { runId } = await system.client.start(SumFlow, flowId, 2);
    await system.client.publish(SumFlow, flowId, Numbers, 1);
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).runId, runId));
    await system.client.publish(SumFlow, flowId, Numbers, 2);
    await system.client.result(SumFlow, flowId);
    const kinds = (await system.client.history(flowId, { runId })).map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(-2), ['ExecuteCompleted', 'FlowClosed']);
    const { unread, steps } = await system.client.describe(flowId, { runId });
    assert.deepEqual([unread, steps], [[], []]);
    assert.equal((await eventKinds(system.client, flowId))[0], 'RunContinued');
  });
});
