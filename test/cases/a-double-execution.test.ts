import assert from 'node:assert/strict';
import {
  anyOf,
  Channel,
  DurableChannel,
  deadEnd,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const log = new Log();
const gate = new Gate();

@Channel()
class Messages extends DurableChannel<string> {}

@Channel()
class Finish extends DurableChannel<string> {}

@Step({ name: 'Choose', retry: { initialInterval: 1 } })
class ChooseStep {
  constructor(private readonly messages: Messages) {}
  waitFor() {
    return anyOf(this.messages.take(1), Timer.after('60s', 'late'));
  }
  execute(_input: undefined, ctx: StepContext) {
    return goTo(HoldStep, ctx.fired('late') ? 'timer' : 'message');
  }
}

/** Keeps the Flow open, so that a message is accepted in any case. */
@Step({ name: 'Hold', retry: { initialInterval: 1 } })
class HoldStep {
  constructor(private readonly finish: Finish) {}
  waitFor(_won: string) {
    return until(this.finish.take(1));
  }
  execute(won: string) {
    return gracefulComplete(won);
  }
}

@Flow()
class ChooseFlow {
  static readonly start = ChooseStep;
  static readonly steps = [HoldStep];
}

@Step({ name: 'Fork' })
class ForkStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'Fork');
    return goToMany(to(AStep), to(CStep));
  }
}

@Step({ name: 'A' })
class AStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'A');
    return goTo(BStep);
  }
}

@Step({ name: 'B' })
class BStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'B');
    return goTo(DStep);
  }
}

@Step({ name: 'C' })
class CStep {
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'C');
    await gate.pass(ctx.flowId);
    return gracefulComplete();
  }
}

@Step({ name: 'D' })
class DStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'D');
    return deadEnd();
  }
}

@Flow()
class ForkFlow {
  static readonly start = ForkStep;
  static readonly steps = [AStep, BStep, CStep, DStep];
}

describeOnEveryStore('Double execution and stale owners', (stack) => {
  it('[C03] after a take-over, result, history and the message agree on which branch won', async () => {
    const system = await stack.open({ flows: [ChooseFlow] });
    const { clock } = system;
    const won = { timer: 0, message: 0 };
    for (let round = 0; round < 6; round++) {
      const flowIds = Array.from({ length: 12 }, () => fresh('choose'));
      for (const flowId of flowIds) await system.client.start(ChooseFlow, flowId);
      await eventually(async () => {
        for (const flowId of flowIds) assert.equal((await system.client.describe(flowId)).steps[0]!.state, 'waiting');
      });
      await system.crash();
      // Whatever real time the take-over took, the timers fall due in the middle of what follows.
      const { dueAt } = (await system.client.describe(flowIds[0]!)).steps[0]!;
      clock.move(dueAt! - clock.now() - flowIds.length);
      // Messages come in while the timers fall due, a millisecond apart.
      const sent: Promise<unknown>[] = [];
      for (const [i, flowId] of flowIds.entries()) {
        // The last of them come too late, however far apart the timers are.
        const [step] = i < 9 ? [] : (await system.client.describe(flowId)).steps;
        if (step?.stepExecutionId === 'Choose-1' && step.state === 'waiting') {
          clock.move(Math.max(0, step.dueAt! - clock.now()) + 1);
        }
        sent.push(system.client.publish(ChooseFlow, flowId, Messages, 'm').catch((error) => error));
        if (i % 2 === 0) await sent[i];
        clock.move(2);
      }
      if (round % 3 === 1) {
        await system.crash();
        await Promise.all(sent);
        await Promise.all(flowIds.map((flowId) => system.client.publish(ChooseFlow, flowId, Messages, 'again')));
      } else await Promise.all(sent);
      await system.advance(20_000);
      for (const flowId of flowIds) {
        await eventually(async () =>
          assert.equal((await system.client.describe(flowId)).steps[0]!.stepExecutionId, 'Hold-1'),
        );
        const satisfied = await eventsOf(system.client, flowId, 'WaitSatisfied');
        assert.equal(satisfied.length, 1);
        const published = (await eventsOf(system.client, flowId, 'MessagePublished')).length;
        const stored = (satisfied[0]!.fields.fired as number[]).length > 0 ? 'timer' : 'message';
        const { unread } = await system.client.describe(flowId);
        const left = unread.find(({ channel }) => channel === 'Messages')?.messages ?? 0;
        assert.equal(left, stored === 'timer' ? published : published - 1);
        await system.client.publish(ChooseFlow, flowId, Finish, 'now');
        assert.equal(await system.client.result(ChooseFlow, flowId), stored);
        won[stored]++;
      }
    }
    assert.ok(won.timer > 0 && won.message > 0, JSON.stringify(won));
  });

  it('[C04] progress in one branch never dispatches a running sibling again', async () => {
    const system = await stack.open({ flows: [ForkFlow] });
    for (const durability of ['SYNC', 'ASYNC'] as const) {
      const flowIds = Array.from({ length: 25 }, () => fresh('fork'));
      for (const flowId of flowIds) await system.client.start(ForkFlow, flowId, undefined, { durability });
      // The fast branch goes all its way while the slow one is in its first and only attempt.
      for (const flowId of flowIds) await eventually(() => assert.equal(log.count(flowId, 'D'), 1));
      await system.advance(60_000);
      for (const flowId of flowIds) gate.open(flowId);
      for (const flowId of flowIds) {
        await system.client.result(ForkFlow, flowId);
        assert.deepEqual([...log.of(flowId)].sort(), ['A', 'B', 'C', 'D', 'Fork']);
        assert.equal(gate.arrived(flowId), 1);
      }
    }
  });
});
