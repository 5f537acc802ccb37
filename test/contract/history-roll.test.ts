import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Rpc,
  Step,
  type StepContext,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { refuses } from '../support/expect';
import { fresh, Gate } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const gate = new Gate();

@Attribute()
class Count extends DurableAttribute<number> {}

@Channel()
class Ticks extends DurableChannel<string> {}

@Step({ name: 'Tick' })
class TickStep {
  constructor(
    private readonly ticks: Ticks,
    private readonly count: Count,
  ) {}
  waitFor(_left: number) {
    return until(this.ticks.take(1));
  }
  async execute(left: number, ctx: StepContext) {
    if (this.ticks.received()[0] === 'gate') await gate.pass(ctx.flowId);
    this.count.set((this.count.get() ?? 0) + 1);
    return left === 1 ? gracefulComplete(this.count.get()) : goTo(TickStep, left - 1);
  }
}

@Flow({ historyLimit: { events: 40 }, retention: '1h' })
class TickFlow {
  static readonly start = TickStep;
  constructor(private readonly ticks: Ticks) {}
  @Rpc()
  tick() {
    this.ticks.publish('rpc');
  }
}

@Flow({ historyLimit: { events: 1_000_000, bytes: 20_000 }, retention: '1h' })
class BytesFlow {
  static readonly start = TickStep;
}

const flows = [TickFlow, BytesFlow];

describeOnEveryStack('History roll', flows, (stack) => {
  const system = stack.shared({ flows });
  const ticking = async (
    flow: typeof TickFlow | typeof BytesFlow,
    on: System,
    flowId: string,
    ticks: number,
    text = 'x',
  ) => {
    for (let i = 0; i < ticks; i++) await on.client.publish(flow, flowId, Ticks, text);
  };
  const counted = (on: System, flowId: string, count: number) =>
    eventually(async () => assert.equal((await on.client.attributes(TickFlow, flowId)).get(Count), count));

  it('[N3] the history of a long run rolls by itself at its limit, with the same runId and numbers that go on', async () => {
    const flowId = fresh('roll');
    const { runId } = await system.client.start(TickFlow, flowId, 61);
    await ticking(TickFlow, system, flowId, 60);
    await counted(system, flowId, 60);
    const run = await system.client.describe(flowId);
    assert.equal(run.runId, runId);
    const history = await system.client.history(flowId);
    assert.deepEqual(
      history.map(({ number }) => number),
      Array.from({ length: history.length }, (_, i) => i + 1),
    );
    const rolls = history.filter(({ kind }) => kind === 'HistoryRolled').map(({ number }) => number);
    const gaps = rolls.map((at, i) => at - (rolls[i - 1] ?? 0));
    assert.ok(rolls.length >= 6, `${rolls}`);
    for (const gap of gaps) assert.ok(gap >= 40 && gap < 60, `rolled after ${gaps}`);
    await system.client.publish(TickFlow, flowId, Ticks, 'last');
    assert.equal(await system.client.result(TickFlow, flowId), 61);
  });

  it('[N3] it rolls once, however much arrives in one turn or while a write is under way', async () => {
    const flowId = fresh('roll');
    await system.client.start(TickFlow, flowId, 1_000);
    const values = Array.from({ length: 100 }, () => ({ channel: Ticks, value: 'x' }));
    for (let i = 0; i < 3; i++) {
      await Promise.all([
        system.client.publishAll(TickFlow, flowId, values),
        ...Array.from({ length: 10 }, () => system.client.rpc(TickFlow, flowId).tick()),
      ]);
    }
    await counted(system, flowId, 330);
    const history = await system.client.history(flowId);
    const rolls = history.filter(({ kind }) => kind === 'HistoryRolled').map(({ number }) => number);
    for (const [i, at] of rolls.entries()) assert.ok(at - (rolls[i - 1] ?? 0) >= 40, `${rolls}`);
    await system.client.stop(flowId, 'terminate', 'enough');
  });

  it('[N3] it rolls by bytes too', async () => {
    const flowId = fresh('roll');
    await system.client.start(BytesFlow, flowId, 100);
    await ticking(BytesFlow, system, flowId, 20, 'x'.repeat(4_000));
    const history = await system.client.history(flowId);
    const rolls = history.filter(({ kind }) => kind === 'HistoryRolled').length;
    assert.ok(rolls >= 3 && rolls <= 8, `${rolls} rolls`);
    await system.client.stop(flowId, 'terminate', 'enough');
  });

  it('[N3] an attempt that runs meanwhile ends as if nothing had happened, over a crash too', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('roll');
    await own.client.start(TickFlow, flowId, 2);
    await own.client.publish(TickFlow, flowId, Ticks, 'gate');
    await eventually(() => gate.arrived(flowId) === 1);
    for (let i = 0; i < 100; i++) await own.client.publish(TickFlow, flowId, Ticks, 'x', { messageId: `m${i}` });
    gate.open(flowId);
    assert.equal(await own.client.result(TickFlow, flowId), 2);
    await own.crash();
    assert.equal(await own.client.result(TickFlow, flowId), 2);
    assert.equal((await own.client.describe(flowId)).unread[0]!.messages, 99);
  });

  it('[N1] [N3] [N5] what is stored live does not grow: rolled history goes after its retention, the rest stays', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('roll');
    await own.client.start(TickFlow, flowId, 10_000);
    const sizes: number[] = [];
    for (let round = 0; round < 3; round++) {
      await ticking(TickFlow, own, flowId, 60);
      await counted(own, flowId, 60 * (round + 1));
      await own.advance(3_700_000);
      await eventually(async () => {
        await own.advance(31_000);
        const history = await own.client.history(flowId);
        assert.ok(history.length <= 60, `${history.length} events`);
      });
      sizes.push(await own.store.count('h/'), await own.store.count('t/'), await own.store.count('g/'));
      const history = await own.client.history(flowId);
      assert.equal(history[0]!.kind, 'HistoryRolled');
      const { events } = await own.client.describe(flowId);
      assert.equal(history.at(-1)!.number, events);
      assert.ok(history[0]!.number > 1);
    }
    assert.ok(Math.max(...sizes) <= 70, `${sizes}`);
    // [N1] A run is opened from its state: none of its first events are there any more.
    await own.crash();
    await ticking(TickFlow, own, flowId, 1);
    await counted(own, flowId, 181);
  });

  it('[F9] [N3] a start may set another limit, and a running Flow may be given one', async () => {
    const flowId = fresh('roll');
    await system.client.start(TickFlow, flowId, 100, { historyLimit: { events: 10 } });
    assert.equal((await system.client.describe(flowId)).config.historyLimitEvents, 10);
    await ticking(TickFlow, system, flowId, 10);
    await counted(system, flowId, 10);
    const rolls = async () =>
      (await system.client.history(flowId)).filter(({ kind }) => kind === 'HistoryRolled').length;
    const before = await rolls();
    assert.ok(before >= 3);
    await system.client.updateConfig(flowId, { historyLimit: 10_000 });
    await ticking(TickFlow, system, flowId, 10);
    await counted(system, flowId, 20);
    assert.ok((await rolls()) <= before + 1);
    await refuses(system.client.updateConfig(flowId, { historyLimit: 0 }), 'INVALID_ARGUMENT', /from 1/);
    await system.client.stop(flowId, 'terminate', 'enough');
  });
});
