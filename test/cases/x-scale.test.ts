import assert from 'node:assert/strict';
import {
  Attribute,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Lock,
  Rpc,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { TestEnvironment } from '../../lib/testing';
import { eventually } from '../support/eventually';
import { failureOf } from '../support/expect';
import { fresh } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const ran = new Map<string, number[]>();

@Channel()
class Gate extends DurableChannel<string> {}

@Step({ name: 'Spread' })
class SpreadStep {
  execute(count: number) {
    return goToMany(Array.from({ length: count }, (_, i) => to(PartStep, i)));
  }
}

@Step({ name: 'Part', retry: { initialInterval: 1 } })
class PartStep {
  execute(part: number, ctx: StepContext) {
    const mine = ran.get(ctx.flowId);
    if (mine) mine[part] = (mine[part] ?? 0) + 1;
    else ran.set(ctx.flowId, Object.assign([], { [part]: 1 }));
    return part === 0 ? gracefulComplete('joined') : deadEnd();
  }
}

@Flow({ durability: 'ASYNC' })
class SpreadFlow {
  static readonly start = SpreadStep;
  static readonly steps = [PartStep];
}

@Channel()
class Letters extends DurableChannel<number> {}

@Step({ name: 'ReadAll' })
class ReadAllStep {
  constructor(private readonly letters: Letters) {}
  waitFor(count: number) {
    return until(this.letters.take(count));
  }
  execute(_count: number) {
    const all = this.letters.received();
    return gracefulComplete(all.every((each, i) => each === i) ? all.length : -1);
  }
}

@Flow()
class LettersFlow {
  static readonly start = ReadAllStep;
}

@Attribute(Lock.exclusive)
class Total extends DurableAttribute<number> {}

@Attribute()
class Taken extends DurableAttribute<number> {}

@Attribute()
class Ticks extends DurableAttribute<number> {}

@Step({ name: 'Consume' })
class ConsumeStep {
  constructor(
    private readonly taken: Taken,
    private readonly letters: Letters,
    private readonly gate: Gate,
  ) {}
  waitFor() {
    return anyOf(this.letters.takeAtLeast(1), this.gate.take(1));
  }
  execute() {
    this.taken.set((this.taken.get() ?? 0) + this.letters.received().length);
    return this.gate.received().length > 0 ? gracefulComplete() : goTo(ConsumeStep);
  }
}

@Step({ name: 'Tick' })
class TickStep {
  constructor(private readonly ticks: Ticks) {}
  waitFor() {
    return until(Timer.after(100));
  }
  execute() {
    this.ticks.set((this.ticks.get() ?? 0) + 1);
    return goTo(TickStep);
  }
}

@Step({ name: 'Begin' })
class BeginStep {
  execute() {
    return goToMany(to(ConsumeStep), to(TickStep));
  }
}

@Flow({ historyLimit: 1_000, retention: '1h' })
class HotFlow {
  static readonly start = BeginStep;
  static readonly steps = [ConsumeStep, TickStep];
  constructor(private readonly total: Total) {}

  @Rpc({ locks: [Total] })
  increment() {
    const total = (this.total.get() ?? 0) + 1;
    this.total.set(total);
    return total;
  }
}

describeOnEveryStore('Ten thousand at once', (stack) => {
  it('[C76] ten thousand Steps of one decision run once each, and join', async () => {
    const system = await stack.open({ flows: [SpreadFlow] });
    const flowId = fresh('spread');
    await system.client.start(SpreadFlow, flowId, 10_000);
    assert.equal(await system.client.result(SpreadFlow, flowId), 'joined');
    const mine = ran.get(flowId)!;
    assert.equal(mine.length, 10_000);
    assert.ok(mine.every((count) => count === 1));
    assert.equal((await system.client.outputs(SpreadFlow, flowId)).length, 1);
    assert.equal((await system.client.describe(flowId)).scheduled.Part, 10_000);
  });

  it('[C76] ten thousand messages of one publish are there once each and in order', async () => {
    const system = await stack.open({ flows: [LettersFlow] });
    const flowId = fresh('letters');
    await system.client.start(LettersFlow, flowId, 10_000);
    const messages = Array.from({ length: 10_000 }, (_, i) => ({ channel: Letters, value: i }));
    await system.client.publishAll(LettersFlow, flowId, messages);
    assert.equal(await system.client.result(LettersFlow, flowId), 10_000);
  });

  it('[C76] above the limit a decision and a publish are refused whole', async () => {
    const system = await stack.open({ flows: [SpreadFlow, LettersFlow] });
    const [flowId, letters] = [fresh('spread'), fresh('letters')];
    await system.client.start(SpreadFlow, flowId, 10_001);
    const error = await failureOf(system.client, SpreadFlow, flowId);
    assert.equal((error.cause as { code?: string }).code, 'LIMIT_EXCEEDED');
    assert.equal((await system.client.describe(flowId)).scheduled.Part, undefined);
    assert.equal(ran.has(flowId), false);
    await system.client.start(LettersFlow, letters, 1);
    const messages = Array.from({ length: 100_001 }, (_, i) => ({ channel: Letters, value: i }));
    await assert.rejects(system.client.publishAll(LettersFlow, letters, messages), { code: 'LIMIT_EXCEEDED' });
    const { unread, steps } = await system.client.describe(letters);
    assert.deepEqual([unread, steps[0]!.state], [[], 'waiting']);
  });
});

describeOnEveryStore('Hot Flow', (stack) => {
  it('[C77] the bytes an RPC writes do not grow with the past of its Flow, and nothing is lost', async () => {
    const system = await stack.open({ flows: [HotFlow] });
    const flowId = fresh('hot');
    await system.client.start(HotFlow, flowId);
    const rpc = system.client.rpc(HotFlow, flowId);
    const rounds = 12;
    const perRound = 60;
    const bytes: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = system.stats.bytes;
      let next = 0;
      const caller = async () => {
        while (next++ < perRound) {
          await Promise.all([rpc.increment(), system.client.publish(HotFlow, flowId, Letters, next)]);
        }
      };
      await Promise.all(Array.from({ length: 20 }, caller));
      bytes.push(system.stats.bytes - before);
    }
    const values = await eventually(async () => {
      const attributes = await system.client.attributes(HotFlow, flowId);
      assert.equal(attributes.get(Taken), rounds * perRound);
      return attributes;
    });
    assert.equal(values.get(Total), rounds * perRound);
    const sum = (part: number[]) => part.reduce((a, b) => a + b, 0);
    // Remembered ids grow to their number within the first half.
    const ratio = sum(bytes.slice(-3)) / sum(bytes.slice(rounds / 2 - 3, rounds / 2));
    assert.ok(ratio < 1.7, `${ratio}: ${bytes.join()}`);
  });
});

describe('Hot Flow in virtual time', () => {
  it('[C77] a timer loop keeps its pace beside a thousand RPCs and messages', async () => {
    const env = await TestEnvironment.open({ flows: [HotFlow] });
    await env.client.start(HotFlow, 'hot');
    const rpc = env.client.rpc(HotFlow, 'hot');
    for (let second = 1; second <= 5; second++) {
      const calls = Array.from({ length: 100 }, (_, i) => [
        rpc.increment(),
        env.client.publish(HotFlow, 'hot', Letters, i),
      ]);
      await env.advance('1s');
      await Promise.all(calls.flat());
      assert.equal((await env.client.attributes(HotFlow, 'hot')).get(Ticks), 10 * second);
    }
    await env.close();
  });
});
