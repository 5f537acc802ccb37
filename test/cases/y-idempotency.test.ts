import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  Channel,
  completeIfEmpty,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  Flow,
  gracefulComplete,
  HoldfastError,
  Lock,
  Rpc,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const log = new Log<string>();

@Attribute(Lock.exclusive)
class Sum extends DurableAttribute<number> {}

@Channel()
class Amounts extends DurableChannel<number> {}

@Channel()
class Turns extends DurableChannel<number> {}

@Step({ name: 'Turn', retry: { initialInterval: 1 } })
class TurnStep {
  constructor(
    private readonly turns: Turns,
    readonly amounts: Amounts,
  ) {}
  waitFor(_input: string) {
    return until(this.turns.take(1));
  }
  execute(input: string) {
    return continueAsNew(SumFlow, input);
  }
}

@Flow()
class SumFlow {
  static readonly start = TurnStep;
  constructor(private readonly sum: Sum) {}

  @Rpc({ locks: [Sum] })
  add(amount: number) {
    const sum = (this.sum.get() ?? 0) + amount;
    this.sum.set(sum);
    return sum;
  }
}

@Step({ name: 'Wait', retry: { initialInterval: 1 } })
class WaitStep {
  constructor(private readonly amounts: Amounts) {}
  waitFor(_input: string) {
    return until(this.amounts.take(1));
  }
  execute(input: string) {
    return gracefulComplete(input);
  }
}

@Flow({ name: 'FlowA' })
class FlowA {
  static readonly start = WaitStep;
}

@Flow({ name: 'FlowB' })
class FlowB {
  static readonly start = WaitStep;
}

@Channel()
class Orders extends DurableChannel<string> {}

/** Short runs: each takes what is there and closes when it is empty. */
@Step({ name: 'Serve' })
class ServeStep {
  constructor(private readonly orders: Orders) {}
  waitFor() {
    return until(this.orders.takeAtLeast(1));
  }
  execute(_input: undefined, ctx: StepContext) {
    for (const order of this.orders.received()) log.add(order, ctx.runId);
    return completeIfEmpty([Orders], ctx.runId, to(ServeStep));
  }
}

@Flow()
class ServeFlow {
  static readonly start = ServeStep;
}

describeOnEveryStore('Idempotency of starts, publishes and RPCs', (stack) => {
  it('[C79] calls whose answers are lost are repeated by the same ids and have one effect each', async () => {
    const system = await stack.open({ flows: [SumFlow] });
    const flowId = fresh('sum');
    const ids = { requestId: `start ${flowId}` };
    // The write succeeds and its answer is lost: the engine has to start afresh, and knows the repeat.
    let losing = 0;
    const lost = new Set<string>();
    const loseAnswerOf = (name: string) => {
      if (lost.has(name)) return;
      lost.add(name);
      losing = 1;
    };
    system.store.faults = {
      afterWrite: () => {
        if (losing-- > 0) throw new HoldfastError('STORE_UNAVAILABLE', 'the answer is lost');
      },
    };
    const calls: Record<string, () => Promise<unknown>> = {
      start: () => system.client.start(SumFlow, flowId, 'mine', ids),
      publish: () => system.client.publish(SumFlow, flowId, Amounts, 5, { messageId: `m ${flowId}` }),
      rpc: () => system.client.rpc(SumFlow, flowId, { requestId: `rpc ${flowId}` }).add(7),
    };
    const first: Record<string, unknown> = {};
    const check = async () => {
      for (const [name, call] of Object.entries(calls)) assert.deepEqual(await call(), first[name], name);
      const { unread } = await system.client.describe(flowId);
      assert.equal(unread.find(({ channel }) => channel === 'Amounts')?.messages, 1);
      assert.equal((await system.client.attributes(SumFlow, flowId)).get(Sum), 7);
    };
    for (const [name, call] of Object.entries(calls)) {
      loseAnswerOf(name);
      const calling = call();
      // The client repeats what is not answered in five seconds.
      const answered = calling.then(() => true);
      await eventually(async () => {
        system.clock.move(5_001);
        return Promise.race([answered, new Promise<false>((resolve) => setTimeout(resolve, 3_000, false))]);
      });
      first[name] = await calling;
    }
    await check();
    await system.crash();
    await check();
    const { runId } = await system.client.describe(flowId);
    await system.client.publish(SumFlow, flowId, Turns, 1);
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).runId, runId));
    await check();
    const conflicts = [
      system.client.start(SumFlow, flowId, 'another', ids),
      system.client.publish(SumFlow, flowId, Amounts, 6, { messageId: `m ${flowId}` }),
      system.client.rpc(SumFlow, flowId, { requestId: `rpc ${flowId}` }).add(8),
    ];
    for (const call of conflicts) await assert.rejects(call, { code: 'ID_CONFLICT' });
    await check();
    const stopped = await system.client.stop(flowId, 'cancel', 'enough', { requestId: 'stop' });
    assert.deepEqual(await system.client.stop(flowId, 'cancel', 'enough', { requestId: 'stop' }), stopped);
    assert.equal((await eventsOf(system.client, flowId, 'FlowClosed')).length, 1);
  });

  it('[C81] a start that is refused changes nothing of the Flow that has the id', async () => {
    const system = await stack.open({ flows: [FlowA, FlowB] });
    const flowId = fresh('taken');
    const { runId } = await system.client.start(FlowA, flowId, 'of A');
    await eventually(async () => assert.equal((await system.client.describe(flowId)).steps[0]!.state, 'waiting'));
    const before = await system.client.describe(flowId);
    for (const start of [
      () => system.client.start(FlowB, flowId, 'of B'),
      () => system.client.start(FlowA, flowId, 'another'),
      () => system.client.start(FlowB, flowId, 'of B', { idReuse: 'ifClosed' }),
      () => system.client.start(FlowB, flowId, 'of B', { idReuse: 'ifPreviousFailed' }),
    ]) {
      await assert.rejects(start(), (error: HoldfastError) => {
        assert.equal(error.code, 'FLOW_ALREADY_EXISTS');
        assert.match(error.message, /FlowA/);
        return true;
      });
    }
    assert.deepEqual(await system.client.describe(flowId), before);
    await system.crash();
    assert.deepEqual(await system.client.describe(flowId), before);
    await system.client.publish(FlowA, flowId, Amounts, 1);
    assert.equal(await system.client.result(FlowA, flowId), 'of A');
    assert.equal((await system.client.describe(flowId)).runId, runId);
  });

  it('[C82] start-or-publish by many while runs close: each message in exactly one run, never two open', async () => {
    const system = await stack.open({ flows: [ServeFlow] });
    const flowId = fresh('serve');
    const clients = 8;
    const bursts = 4;
    const each = 15;
    const accepted = new Map<string, string>();
    const begun = new Set<string>();
    const publisher = async (client: number, burst: number) => {
      for (let i = 0; i < each; i++) {
        const order = `${flowId}/${client}/${burst}/${i}`;
        const messages = [{ channel: Orders, value: order }];
        const options = { idReuse: 'ifClosed' } as const;
        const { runId, started } = await system.client.startAndPublish(ServeFlow, flowId, undefined, messages, options);
        accepted.set(order, runId);
        if (started) begun.add(runId);
        await pause((client * i) % 17);
      }
    };
    for (let burst = 0; burst < bursts; burst++) {
      await Promise.all(Array.from({ length: clients }, (_, client) => publisher(client, burst)));
      // However slow the store is, a run has come to its end before the next burst.
      await system.client.result(ServeFlow, flowId);
    }
    assert.equal(accepted.size, bursts * clients * each);
    await eventually(() => {
      for (const [order, runId] of accepted) assert.deepEqual(log.of(order), [runId]);
    });
    assert.deepEqual(new Set(accepted.values()), begun);
    assert.ok(begun.size >= bursts, `${begun.size} runs`);
    const spans: [number, number][] = [];
    for (const runId of begun) {
      const { startedAt, closedAt, status } = await eventually(async () => {
        const description = await system.client.describe(flowId, { runId });
        assert.notEqual(description.closedAt, null);
        return description;
      });
      assert.equal(status, 'completed');
      spans.push([startedAt, closedAt!]);
    }
    spans.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (let i = 1; i < spans.length; i++) assert.ok(spans[i]![0] >= spans[i - 1]![1], 'two runs were open');
  });

  it('[C82] where reuse is refused, so is the message', async () => {
    const system = await stack.open({ flows: [ServeFlow] });
    const flowId = fresh('serve');
    const publish = (order: string) =>
      system.client.startAndPublish(ServeFlow, flowId, undefined, [{ channel: Orders, value: order }]);
    await publish(`${flowId}/first`);
    await system.client.result(ServeFlow, flowId);
    const refused = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => publish(`${flowId}/${i}`)));
    for (const [i, each] of refused.entries()) {
      assert.equal(each.status === 'rejected' && each.reason.code, 'FLOW_ALREADY_EXISTS');
      assert.deepEqual(log.of(`${flowId}/${i}`), []);
    }
    assert.deepEqual((await system.client.describe(flowId)).unread, []);
  });
});
