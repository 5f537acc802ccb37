import assert from 'node:assert/strict';
import { Attribute, Channel, DurableAttribute, DurableChannel, Flow, goTo, Rpc, Step, until } from '../../index';
import { eventually } from '../support/eventually';
import { refuses, stepStates } from '../support/expect';
import { fresh } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

@Attribute()
class Count extends DurableAttribute<number> {}

@Attribute()
class Ballast extends DurableAttribute<string> {}

@Channel()
class Ticks extends DurableChannel<number> {}

@Step({ name: 'Tick' })
class TickStep {
  constructor(
    private readonly ticks: Ticks,
    private readonly count: Count,
  ) {}
  waitFor() {
    return until(this.ticks.take(1));
  }
  execute() {
    this.count.set(this.ticks.received()[0]!);
    return goTo(TickStep);
  }
}

@Flow({ name: 'LongRun', durability: 'ASYNC', historyLimit: { events: 1_000_000, bytes: 1_000_000_000 } })
class LongFlow {
  static readonly start = TickStep;
  constructor(private readonly ballast: Ballast) {}

  @Rpc()
  fill(bytes: number) {
    this.ballast.set('x'.repeat(bytes));
  }
}

@Flow({ name: 'RollingRun', historyLimit: { events: 40 }, retention: '1h' })
class RollingFlow {
  static readonly start = TickStep;
}

const flows = [LongFlow, RollingFlow];

describeOnEveryStack('Reach of timeTravel', (stack) => {
  const tick = async (
    system: System,
    flow: typeof LongFlow | typeof RollingFlow,
    flowId: string,
    to: number,
    batch: number,
  ) => {
    const from = (await system.client.describe(flowId)).scheduled.Tick ?? 1;
    for (let i = from; i <= to; i += batch) {
      const messages = Array.from({ length: Math.min(batch, to - i + 1) }, (_, n) => ({
        channel: Ticks,
        value: i + n,
      }));
      await system.client.publishAll(flow, flowId, messages);
      const last = `Tick-${i + messages.length}`;
      await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { [last]: 'waiting' }));
    }
  };
  const countAt = async ({ client }: System, flowId: string, step: number, runId: string) => {
    const to = { step: `Tick-${step}`, method: 'waitFor' } as const;
    await client.timeTravel(flowId, to, { runId, reapply: false });
    await eventually(async () => assert.deepEqual(await stepStates(client, flowId), { [`Tick-${step}`]: 'waiting' }));
    return (await client.attributes(LongFlow, flowId)).get(Count);
  };

  it('[K4] copies of the state are made every 1,000 events, and not of a large one for little history', async () => {
    const system = await stack.open({ flows });
    const [small, large] = [fresh('long'), fresh('long')];
    for (const flowId of [small, large]) await system.client.start(LongFlow, flowId);
    await system.client.rpc(LongFlow, large).fill(2_000_000);
    await Promise.all([small, large].map((flowId) => tick(system, LongFlow, flowId, 300, 50)));
    const [few, many] = [await system.client.describe(large), await system.client.describe(small)];
    assert.ok(few.events > 1_400 && many.events > 1_400);
    // One, in parts, for the history that made it large.
    assert.ok((await system.store.count(`c/${few.runId}/`)) <= 3);
    const copies = await system.store.count(`c/${many.runId}/`);
    assert.ok(copies >= 1 && copies <= many.events / 1_000, `${copies} copies of ${many.events} events`);
    await system.crash();
    for (const { flowId, runId } of [many, few]) {
      for (const step of [251, 201, 51]) assert.equal(await countAt(system, flowId, step, runId), step - 1);
    }
  });

  it('[K4] [N3] rolled history is reached until its retention is over, and the rest after it', async () => {
    const system = await stack.open({ flows });
    const flowId = fresh('rolling');
    await system.client.start(RollingFlow, flowId);
    const { runId } = await system.client.describe(flowId);
    await tick(system, RollingFlow, flowId, 30, 1);
    await system.advance(30 * 60_000);
    await tick(system, RollingFlow, flowId, 60, 1);
    const all = await system.store.count(`c/${runId}/`);
    assert.ok(all >= 3);
    await system.advance(32 * 60_000);
    const [first] = await eventually(async () => {
      const kept = await system.client.history(flowId, { limit: 1 });
      assert.ok(kept[0]!.number > 30);
      return kept;
    });
    await eventually(async () => assert.ok((await system.store.count(`c/${runId}/`)) < all));
    await refuses(system.client.timeTravel(flowId, 'beginning'), 'HISTORY_GONE');
    await refuses(system.client.timeTravel(flowId, { event: first!.number - 1 }), 'HISTORY_GONE');
    await refuses(system.client.timeTravel(flowId, { step: 'Tick-2', method: 'execute' }), 'HISTORY_GONE');
    assert.equal((await system.client.describe(flowId)).runId, runId);
    assert.equal(await countAt(system, flowId, 59, runId), 58);
    assert.equal(await countAt(system, flowId, 45, runId), 44);
    // The old run goes with all its copies, the new one stays.
    const { runId: last } = await system.client.describe(flowId);
    await system.advance(62 * 60_000);
    await eventually(async () => assert.equal(await system.store.count(`c/${runId}/`), 0));
    assert.ok((await system.store.count(`c/${last}/`)) > 0);
    await refuses(system.client.timeTravel(flowId, { event: 1 }, { runId }), 'HISTORY_GONE');
    assert.ok((await system.client.timeTravel(flowId, 'beginning')).runId);
  });
});
