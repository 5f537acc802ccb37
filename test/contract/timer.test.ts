import assert from 'node:assert/strict';
import { Flow, goTo, gracefulComplete, Step, type StepContext, Timer, until } from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, refuses, stepStates } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const waitFors = new Log<number>();
const day = 86_400_000;
const year = 365 * day;

@Step({ name: 'Sleep', retry: { initialInterval: 1 } })
class SleepStep {
  async waitFor(ms: number, ctx: StepContext) {
    waitFors.add(ctx.flowId, ms);
    return until(Timer.after(ms, 'alarm'));
  }
  execute(ms: number) {
    return gracefulComplete(ms);
  }
}

@Flow()
class SleepFlow {
  static readonly start = SleepStep;
}

@Step()
class AtStep {
  waitFor(at: number) {
    return until(Timer.at(at));
  }
  execute(_at: number) {
    return gracefulComplete();
  }
}

@Flow()
class AtFlow {
  static readonly start = AtStep;
}

@Step()
class NapStep {
  waitFor(left: number) {
    return until(Timer.after(left % 4));
  }
  execute(left: number) {
    return left === 0 ? gracefulComplete() : goTo(NapStep, left - 1);
  }
}

@Flow()
class NapsFlow {
  static readonly start = NapStep;
}

const flows = [SleepFlow, AtFlow, NapsFlow];

/** When the waits of a run were saved and satisfied, by the clock of the shard. */
async function spans(system: System, flowId: string): Promise<{ saved: number; satisfied: number; dueAt: number }[]> {
  const saved = await eventsOf(system.client, flowId, 'WaitForCompleted');
  const satisfied = await eventsOf(system.client, flowId, 'WaitSatisfied');
  return saved.map((event, i) => ({
    saved: event.at.getTime(),
    satisfied: satisfied[i]!.at.getTime(),
    dueAt: (event.fields.conditions as { dueAt: number }[])[0]!.dueAt,
  }));
}

describeOnEveryStack('Timer', flows, (stack) => {
  const system = stack.shared({ flows });

  const sleeping = async (ms: number) => {
    const flowId = fresh('sleep');
    await system.client.start(SleepFlow, flowId, ms);
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Sleep-1': 'waiting' }));
    return flowId;
  };
  const stillWaiting = async (flowId: string) =>
    assert.deepEqual(await stepStates(system.client, flowId), { 'Sleep-1': 'waiting' });
  const result = (flowId: string) => system.client.result(SleepFlow, flowId, { deadline: '15s' });

  it('[W6] the deadline is counted from the moment the wait is saved, and never fires early', async () => {
    const flowId = fresh('naps');
    await system.client.start(NapsFlow, flowId, 40);
    await system.client.result(NapsFlow, flowId);
    const all = await spans(system, flowId);
    assert.equal(all.length, 41);
    for (const [i, { saved, satisfied, dueAt }] of all.entries()) {
      assert.equal(dueAt, saved + ((40 - i) % 4));
      assert.ok(satisfied >= dueAt, `${dueAt - satisfied} ms early`);
    }
  });

  for (const [title, ms] of [
    ['25 days, beyond what the host can time', 25 * day],
    ['2^31 ms', 2 ** 31],
    ['2^32 + 5000 ms', 2 ** 32 + 5_000],
    ['10 years', 10 * year],
  ] as const) {
    it(`[W6] a timer of ${title} fires when it is over, and not before`, async () => {
      const flowId = await sleeping(ms);
      const dueAt = (await system.client.describe(flowId)).steps[0]!.dueAt!;
      const until = (left: number) => system.advance(dueAt - left - system.clock.now());
      await until(60_000);
      await stillWaiting(flowId);
      await until(10_000);
      await stillWaiting(flowId);
      await system.advance(11_000);
      assert.equal(await result(flowId), ms);
    });
  }

  it('[W6] a timer of 10 years survives restarts on the way, without starting over', async () => {
    const flowId = await sleeping(10 * year);
    const { steps } = await system.client.describe(flowId);
    for (let i = 0; i < 4; i++) {
      await system.crash();
      await system.advance(2.5 * year - 30_000);
      await stillWaiting(flowId);
      assert.deepEqual((await system.client.describe(flowId)).steps, steps);
    }
    await system.crash();
    await system.advance(130_000);
    assert.equal(await result(flowId), 10 * year);
    assert.deepEqual(waitFors.of(flowId), [10 * year]);
  });

  it('[W6] a timer that falls due while nothing runs fires after the restart, once', async () => {
    const flowId = await sleeping(5 * day);
    system.store.faults = {};
    await system.crash({ slots: 0 });
    system.clock.move(6 * day);
    await system.crash({ slots: 10 });
    assert.equal(await result(flowId), 5 * day);
    assert.equal((await eventsOf(system.client, flowId, 'WaitSatisfied')).length, 1);
  });

  it('[W6] a wall clock that is set back delays nothing, and time stays in order', async () => {
    const flowId = await sleeping(day);
    system.clock.setWall(-3_600_000);
    await system.advance(day - 60_000);
    await stillWaiting(flowId);
    await system.advance(61_000);
    assert.equal(await result(flowId), day);
    const times = (await system.client.history(flowId)).map(({ at }) => at.getTime());
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    );
    system.clock.setWall(3_600_000);
  });

  it('[W6] the clock of a shard does not run backwards over owners', async () => {
    const flowId = await sleeping(day);
    const [step] = (await system.client.describe(flowId)).steps;
    system.clock.setWall(-3_600_000);
    await system.crash();
    await system.advance(day - 60_000);
    await stillWaiting(flowId);
    await system.advance(61_000);
    assert.equal(await result(flowId), day);
    const times = (await system.client.history(flowId)).map(({ at }) => at.getTime());
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    );
    assert.ok(times.at(-1)! >= step!.dueAt!);
    system.clock.setWall(3_600_000);
  });

  it('[W6] Timer.at is that moment, and a past one is now', async () => {
    const [past, future] = [fresh('at'), fresh('at')];
    await system.client.start(AtFlow, past, -1);
    await system.client.result(AtFlow, past);
    const at = system.clock.now() + 90 * day;
    await system.client.start(AtFlow, future, at);
    await eventually(async () => assert.equal((await stepStates(system.client, future))['AtStep-1'], 'waiting'));
    assert.equal((await system.client.describe(future)).steps[0]!.dueAt, at);
    await system.advance(90 * day - 60_000);
    assert.equal((await stepStates(system.client, future))['AtStep-1'], 'waiting');
    await system.advance(61_000);
    await system.client.result(AtFlow, future);
  });

  it('[W6] durations that are negative, NaN, infinite or no durations are refused, 0 is now', async () => {
    const code = 'INVALID_DURATION';
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, -0.001, '-5s', 'soon', '', '5 parsecs', {}, null]) {
      assert.throws(() => Timer.after(bad as number), { code }, String(bad));
    }
    for (const bad of [new Date(Number.NaN), Number.NaN, Number.NEGATIVE_INFINITY, 'tomorrow', undefined]) {
      assert.throws(() => Timer.at(bad as number), { code }, String(bad));
    }
    const flowId = fresh('sleep');
    await system.client.start(SleepFlow, flowId, 0);
    assert.equal(await result(flowId), 0);
  });

  it('[W7] a skipped timer counts as fired', async () => {
    const flowId = await sleeping(10 * year);
    await refuses(system.client.skipTimer(flowId, 'Sleep-1', 'other'), 'STEP_NOT_FOUND');
    await refuses(system.client.skipTimer(flowId, 'Sleep-2'), 'STEP_NOT_FOUND');
    await system.client.skipTimer(flowId, 'Sleep-1', 'alarm');
    assert.equal(await result(flowId), 10 * year);
  });
});
