import assert from 'node:assert/strict';
import {
  Channel,
  DurableChannel,
  DurableChannelMap,
  deadEnd,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, refuses, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const taken = new Log<readonly [execution: string, messages: readonly number[]]>();
const gate = new Gate();

@Channel()
class Numbers extends DurableChannel<number> {}

@Channel()
class Keyed extends DurableChannelMap<number> {}

@Channel()
class Undeclared extends DurableChannel<number> {}

@Step({ name: 'Crew' })
class CrewStep {
  execute(size: number) {
    return goToMany(Array.from({ length: size }, () => to(TakeStep, 1)));
  }
}

/** Takes one message after the other, each in an execution of its own. */
@Step({ name: 'Take' })
class TakeStep {
  constructor(private readonly numbers: Numbers) {}
  waitFor(count: number) {
    return until(this.numbers.take(count));
  }
  execute(count: number, ctx: StepContext) {
    taken.add(ctx.flowId, [ctx.stepExecutionId, this.numbers.received()]);
    return goTo(TakeStep, count);
  }
}

@Flow()
class CrewFlow {
  static readonly start = CrewStep;
  static readonly steps = [TakeStep];
  constructor(readonly keyed: Keyed) {}
}

@Step({ name: 'Publish', retry: { initialInterval: 1 } })
class PublishStep {
  constructor(
    private readonly numbers: Numbers,
    private readonly keyed: Keyed,
  ) {}
  async execute(messages: number[], ctx: StepContext) {
    for (const message of messages) this.numbers.publish(message);
    this.keyed.publish('k', messages.length);
    await gate.pass(ctx.flowId);
    if (ctx.attempt === 1) throw new Error('again');
    return deadEnd();
  }
}

@Flow()
class PublishFlow {
  static readonly start = PublishStep;
}

@Step({ name: 'Late' })
class LateStep {
  constructor(readonly numbers: Numbers) {}
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return goTo(DrainStep);
  }
}

@Step({ name: 'Drain' })
class DrainStep {
  constructor(private readonly numbers: Numbers) {}
  waitFor() {
    return until(this.numbers.takeAtLeast(3));
  }
  execute() {
    return gracefulComplete(this.numbers.received());
  }
}

@Flow()
class LateFlow {
  static readonly start = LateStep;
  static readonly steps = [DrainStep];
}

const flows = [CrewFlow, PublishFlow, LateFlow];

describeOnEveryStack('Channel', flows, (stack) => {
  const system = stack.shared({ flows });
  const numbersOf = (flowId: string) => taken.of(flowId).flatMap(([, messages]) => messages);
  const unread = async (flowId: string) =>
    Object.fromEntries((await system.client.describe(flowId)).unread.map((each) => [each.channel, each.messages]));

  it('[C1] a queue gives its messages in the order they came', async () => {
    const flowId = fresh('fifo');
    await system.client.start(CrewFlow, flowId, 1);
    const numbers = Array.from({ length: 60 }, (_, i) => i);
    for (const value of numbers) {
      if (value % 3 === 0) await system.client.publish(CrewFlow, flowId, Numbers, value);
      else system.client.publish(CrewFlow, flowId, Numbers, value).catch(() => {});
    }
    await eventually(() => numbersOf(flowId).length === 60);
    assert.deepEqual(numbersOf(flowId), numbers);
  });

  it('[C1] one message goes to one wait, once, however many wait', async () => {
    const flowId = fresh('crew');
    await system.client.start(CrewFlow, flowId, 8);
    await eventually(async () => {
      const states = Object.values(await stepStates(system.client, flowId));
      assert.deepEqual(states, Array(8).fill('waiting'));
    });
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    await Promise.all(numbers.map((value) => system.client.publish(CrewFlow, flowId, Numbers, value)));
    await eventually(() => taken.of(flowId).length >= 200);
    assert.deepEqual(
      [...numbersOf(flowId)].sort((a, b) => a - b),
      numbers,
    );
    assert.equal(new Set(taken.of(flowId).map(([execution]) => execution)).size, 200);
    assert.deepEqual(await unread(flowId), {});
  });

  it('[C1] the queue is inside one run: another Flow, and the next run of the flowId, do not see it', async () => {
    const [one, other] = [fresh('crew'), fresh('crew')];
    for (const flowId of [one, other]) await system.client.start(CrewFlow, flowId, 1);
    await system.client.publish(CrewFlow, one, Numbers, 1);
    await eventually(() => taken.of(one).length === 1);
    assert.deepEqual(numbersOf(other), []);
    await system.client.publish(CrewFlow, one, Keyed, 1, { key: 'k' });
    await system.client.start(CrewFlow, one, 1, { idReuse: 'terminateRunning' });
    assert.deepEqual(await unread(one), {});
  });

  it('[C2] Steps publish with their result: nothing is there before, and a failed attempt leaves nothing', async () => {
    const flowId = fresh('publish');
    await system.client.start(PublishFlow, flowId, [1, 2, 3]);
    await eventually(() => gate.arrived(flowId) === 1);
    assert.deepEqual(await unread(flowId), {});
    gate.open(flowId);
    await system.client.waitForStep(PublishFlow, flowId, PublishStep);
    assert.deepEqual(await unread(flowId), { Numbers: 3, Keyed: 1 });
  });

  it('[C2] clients publish: each message is one event of the history, and is kept until something waits for it', async () => {
    const flowId = fresh('late');
    await system.client.start(LateFlow, flowId);
    for (const value of [1, 2]) await system.client.publish(LateFlow, flowId, Numbers, value);
    await system.client.publishAll(
      LateFlow,
      flowId,
      [3, 4].map((value) => ({ channel: Numbers, value })),
    );
    const published = await eventsOf(system.client, flowId, 'MessagePublished');
    assert.deepEqual(
      published.map(({ fields }) => [fields.address, fields.value]),
      [1, 2, 3, 4].map((value) => ['Numbers', value]),
    );
    assert.deepEqual(await unread(flowId), { Numbers: 4 });
    gate.open(flowId);
    assert.deepEqual(await system.client.result(LateFlow, flowId), [1, 2, 3, 4]);
  });

  it('[C2] a message published in the same tick as the start is not lost', async () => {
    const flowIds = Array.from({ length: 30 }, () => fresh('early'));
    await Promise.all(
      flowIds.flatMap((flowId) => [
        system.client.start(CrewFlow, flowId, 1),
        system.client.publish(CrewFlow, flowId, Numbers, 7),
      ]),
    );
    for (const flowId of flowIds) await eventually(() => assert.deepEqual(numbersOf(flowId), [7]));
  });

  it('[C5] publishing to a closed or unknown run fails with FlowNotActiveError', async () => {
    const unknown = system.client.publish(CrewFlow, fresh('unknown'), Numbers, 1);
    const error = await refuses(unknown, 'FLOW_NOT_ACTIVE', /There is no Flow/);
    assert.equal(error.name, 'FlowNotActiveError');
    const flowId = fresh('closed');
    await system.client.start(CrewFlow, flowId, 1);
    await system.client.stop(flowId, 'cancel', 'enough');
    await refuses(system.client.publish(CrewFlow, flowId, Numbers, 1), 'FLOW_NOT_ACTIVE', /is cancelled/);
    assert.deepEqual((await eventKinds(system.client, flowId)).at(-1), 'FlowClosed');
  });

  it('[C5] publishing to an undeclared Channel is a definition error, and nothing of the batch is saved', async () => {
    const flowId = fresh('undeclared');
    await system.client.start(CrewFlow, flowId, 1);
    const { client } = system;
    const foreign = await refuses(
      client.publish(CrewFlow, flowId, Undeclared, 1),
      'DEFINITION',
      /no Channel Undeclared/,
    );
    assert.equal(foreign.kind, 'definition');
    await refuses(client.publish(CrewFlow, flowId, Keyed, 1), 'DEFINITION', /needs a key/);
    await refuses(client.publish(CrewFlow, flowId, Numbers, 1, { key: 'k' }), 'DEFINITION', /takes no key/);
    await refuses(
      client.publishAll(CrewFlow, flowId, [
        { channel: Numbers, value: 1 },
        { channel: Keyed, value: 2 },
      ]),
      'DEFINITION',
    );
    assert.equal((await eventsOf(client, flowId, 'MessagePublished')).length, 0);
  });

  it('[C5] what is unread at the close is kept with the closed run and counted in its description', async () => {
    const flowId = fresh('unread');
    const { runId } = await system.client.start(LateFlow, flowId);
    await system.client.publishAll(
      LateFlow,
      flowId,
      [1, 2, 3].map((value) => ({ channel: Numbers, value })),
    );
    await system.client.stop(flowId, 'terminate', 'enough');
    assert.deepEqual(await unread(flowId), { Numbers: 3 });
    gate.open(flowId);
    await system.client.start(LateFlow, flowId, undefined, { idReuse: 'ifClosed' });
    const closed = await system.client.describe(flowId, { runId });
    assert.deepEqual(closed.unread, [{ channel: 'Numbers', key: undefined, messages: 3 }]);
  });
});

describeOnEveryStack('Channel over a crash', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[C1] messages are taken once over crashes, in their order', async () => {
    const flowId = fresh('fifo');
    await system.client.start(CrewFlow, flowId, 1);
    const numbers = Array.from({ length: 40 }, (_, i) => i);
    for (const value of numbers) {
      await system.client.publish(CrewFlow, flowId, Numbers, value);
      if (value % 13 === 12) await system.crash();
    }
    await system.advance(5_000);
    await eventually(async () =>
      assert.deepEqual(await eventsOf(system.client, flowId, 'ExecuteCompleted').then((all) => all.length), 41),
    );
    // An attempt that was lost ran again with the messages it had.
    const perExecution = new Map(taken.of(flowId));
    assert.deepEqual([...perExecution.values()].flat(), numbers);
  });

  it('[C2] an acknowledged message is there', async () => {
    const flowId = fresh('late');
    await system.client.start(LateFlow, flowId);
    await system.client.publish(LateFlow, flowId, Numbers, 1);
    await system.crash();
    assert.deepEqual((await system.client.describe(flowId)).unread, [
      { channel: 'Numbers', key: undefined, messages: 1 },
    ]);
  });
});
