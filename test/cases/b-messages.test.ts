import assert from 'node:assert/strict';
import {
  anyOf,
  Channel,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { TestEnvironment } from '../../lib/testing';
import { fresh, Gate } from '../support/observers';

const gate = new Gate();

@Channel()
class Mail extends DurableChannel<string> {}

@Step()
class FirstStep {
  async execute(gated: boolean, ctx: StepContext) {
    if (gated) await gate.pass(ctx.flowId);
    return goTo(AwaitMailStep);
  }
}

@Step()
class AwaitMailStep {
  constructor(private readonly mail: Mail) {}
  waitFor() {
    return anyOf(Timer.after('60s', 'late'), this.mail.take(1));
  }
  execute(_input: undefined, ctx: StepContext) {
    return gracefulComplete(ctx.fired('late') ? 'timer' : this.mail.received()[0]!);
  }
}

@Flow()
class AtOnceFlow {
  static readonly start = AwaitMailStep;
}

@Flow()
class EarlyFlow {
  static readonly start = FirstStep;
  static readonly steps = [AwaitMailStep];
}

/** Waits against a timer `left` times, then without one for two messages or what is left of them. */
@Step()
class RaceStep {
  constructor(private readonly mail: Mail) {}
  waitFor() {
    return anyOf(Timer.after(50, 'late'), this.mail.take(1));
  }
  execute({ left, got }: Progress, _ctx: StepContext) {
    const all = [...got, ...this.mail.received()];
    return left === 1 ? goTo(RestStep, { left: 0, got: all }) : goTo(RaceStep, { left: left - 1, got: all });
  }
}

interface Progress {
  left: number;
  got: string[];
}

@Step()
class RestStep {
  constructor(private readonly mail: Mail) {}
  waitFor({ got }: Progress) {
    return until(this.mail.takeAtLeast(2 - got.length));
  }
  execute({ got }: Progress) {
    return gracefulComplete([...got, ...this.mail.received()]);
  }
}

@Flow()
class RaceFlow {
  static readonly start = RaceStep;
  static readonly steps = [RestStep];
}

@Step()
class LoserStep {
  constructor(private readonly mail: Mail) {}
  waitFor() {
    return anyOf(Timer.after(50, 'late'), this.mail.take(1));
  }
  execute(left: number) {
    return left > 0 ? goTo(LoserStep, left - 1) : goTo(AwaitMailStep);
  }
}

@Flow()
class LosersFlow {
  static readonly start = LoserStep;
  static readonly steps = [AwaitMailStep];
}

describe('Channel messages lost, duplicated or re-ordered', () => {
  let env: TestEnvironment;
  before(async () => {
    env = await TestEnvironment.open({ flows: [AtOnceFlow, EarlyFlow, RaceFlow, LosersFlow] });
  });
  after(() => env.close());

  it('[C05] a message published before anyone waits is kept for the wait', async () => {
    for (let round = 0; round < 300; round++) {
      const [atOnce, early] = [fresh('once'), fresh('early')];
      const sent = [
        env.client.start(AtOnceFlow, atOnce),
        env.client.publish(AtOnceFlow, atOnce, Mail, 'first'),
        env.client.start(EarlyFlow, early, true),
      ];
      await Promise.all(sent);
      await env.client.publish(EarlyFlow, early, Mail, 'during an earlier Step');
      gate.open(early);
      assert.equal(await env.client.result(AtOnceFlow, atOnce), 'first');
      assert.equal(await env.client.result(EarlyFlow, early), 'during an earlier Step');
    }
    await env.settled();
  });

  it('[C07] messages that come as a timer wins go to the next wait, in order, each once', async () => {
    let timers = 0;
    for (let round = 0; round < 250; round++) {
      const flowId = fresh('race');
      await env.client.start(RaceFlow, flowId, { left: 1, got: [] });
      await env.advance(47 + (round % 4));
      const sent = [env.client.publish(RaceFlow, flowId, Mail, 'm1'), env.client.publish(RaceFlow, flowId, Mail, 'm2')];
      await env.advance(5);
      await Promise.all(sent);
      assert.deepEqual(await env.client.result(RaceFlow, flowId), ['m1', 'm2']);
      const [first] = (await env.client.history(flowId)).filter(({ kind }) => kind === 'WaitSatisfied');
      if ((first!.fields.fired as number[]).length > 0) timers++;
    }
    assert.ok(timers > 0 && timers < 250, `${timers}`);
  });

  it('[C07] waits that lost against a timer consume nothing', async () => {
    for (let round = 0; round < 100; round++) {
      const flowId = fresh('losers');
      await env.client.start(LosersFlow, flowId, 9);
      await env.advance(500);
      await env.client.publish(LosersFlow, flowId, Mail, 'the only one');
      assert.equal(await env.client.result(LosersFlow, flowId), 'the only one');
    }
  });
});
