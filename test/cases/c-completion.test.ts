import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  Channel,
  completeIfEmpty,
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
import { fresh, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const log = new Log<number>();

@Channel()
class Work extends DurableChannel<number> {}

@Step({ name: 'Drain' })
class DrainStep {
  constructor(private readonly work: Work) {}
  waitFor() {
    return until(this.work.takeUpTo(3));
  }
  async execute(_input: undefined, ctx: StepContext) {
    await turns(3);
    for (const each of this.work.received()) log.add(ctx.flowId, each);
    return completeIfEmpty([Work], log.of(ctx.flowId).length, to(DrainStep));
  }
}

@Flow()
class DrainFlow {
  static readonly start = DrainStep;
}

@Attribute(Lock.exclusive)
class Numbers extends DurableAttribute<number[]> {}

@Channel()
class Done extends DurableChannel<true> {}

@Step({ name: 'UntilDone' })
class UntilDoneStep {
  constructor(private readonly done: Done) {}
  waitFor() {
    return until(this.done.take(1));
  }
  execute() {
    return gracefulComplete();
  }
}

@Flow()
class NumbersFlow {
  static readonly start = UntilDoneStep;
  constructor(
    private readonly numbers: Numbers,
    private readonly done: Done,
  ) {}

  @Rpc({ locks: [Numbers] })
  append(number: number) {
    this.numbers.set([...(this.numbers.get() ?? []), number]);
    if (number === 40) this.done.publish(true);
    return number;
  }
}

/** Lets the event loop turn that often. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** What the call gave, or the code it was refused with. */
async function outcome<T>(call: Promise<T>): Promise<T | string> {
  try {
    return await call;
  } catch (error) {
    assert.ok(error instanceof HoldfastError, String(error));
    return error.code;
  }
}

describeOnEveryStore('Completion racing with incoming work', (stack) => {
  const system = stack.shared({ flows: [DrainFlow, NumbersFlow] });

  it('[C09] a message that arrives while the Flow decides to complete is processed or refused', async () => {
    let accepted = 0;
    let refused = 0;
    const race = async (_: unknown, flowNumber: number) => {
      const flowId = fresh('drain');
      await system.client.start(DrainFlow, flowId);
      const mine: number[] = [];
      for (let number = 0; ; number++) {
        const answer = await outcome(system.client.publish(DrainFlow, flowId, Work, number));
        if (answer !== undefined) {
          assert.equal(answer, 'FLOW_NOT_ACTIVE');
          refused++;
          break;
        }
        mine.push(number);
        // At all sorts of moments around the close.
        if (flowNumber % 2) await turns((number * 5 + flowNumber) % 17);
        else await pause((number * 3) % 7);
        if (number === 60) break;
      }
      assert.equal(await system.client.result(DrainFlow, flowId), mine.length);
      assert.deepEqual(log.of(flowId), mine);
      accepted += mine.length;
    };
    for (let round = 0; round < 12; round++) await Promise.all(Array.from({ length: 20 }, race));
    assert.ok(accepted > 0 && refused > 0, `${accepted} ${refused}`);
  });

  it('[C11] RPCs in flight when the Flow closes get one definite answer, and are there exactly if it was OK', async () => {
    let refused = 0;
    for (let round = 0; round < 6; round++) {
      const flowId = fresh('numbers');
      await system.client.start(NumbersFlow, flowId);
      const rpc = system.client.rpc(NumbersFlow, flowId);
      const answers = await Promise.all(
        Array.from({ length: 80 }, async (_, i) => {
          if (i > 45) await turns(i);
          return outcome(rpc.append(i));
        }),
      );
      await system.client.result(NumbersFlow, flowId);
      const ok = answers.filter((answer) => typeof answer === 'number');
      for (const answer of answers) {
        if (typeof answer === 'string') {
          assert.ok(['FLOW_CLOSING', 'FLOW_NOT_ACTIVE'].includes(answer), answer);
          refused++;
        }
      }
      const kept = (await system.client.attributes(NumbersFlow, flowId)).get(Numbers)!;
      assert.ok(kept.includes(40));
      assert.deepEqual(
        [...kept].sort((a, b) => a - b),
        ok.sort((a, b) => a - b),
      );
    }
    assert.ok(refused > 0, 'no call met the closing');
  });
});
