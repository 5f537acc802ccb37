import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goToMany,
  gracefulComplete,
  Lock,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute(Lock.exclusive)
class Account extends DurableAttribute<number> {}

@Channel()
class Cues extends DurableChannel<string> {}

type Way = 'success' | 'throw' | 'recover' | 'timeout' | 'cancel' | 'continueAsNew' | 'crash';

@Step({ name: 'Both' })
class BothStep {
  execute(way: Way) {
    return goToMany(to(HolderStep, way), to(CueStep, way));
  }
}

@Step({ name: 'Holder', timeout: '1m', retry: { maximumAttempts: 2, initialInterval: 1 }, onFailure: () => GiveUpStep })
class HolderStep {
  constructor(private readonly account: Account) {}
  async execute(way: Way, ctx: StepContext) {
    this.account.set(1);
    log.add(ctx.flowId, `holder ${ctx.attempt}`);
    if (ctx.attempt > 1 && way === 'crash') return deadEnd();
    if (way !== 'throw' && way !== 'recover') await gate.pass(ctx.flowId);
    if (way === 'success') return deadEnd();
    if (way === 'continueAsNew') return continueAsNew(HolderFlow, way);
    throw new Error('no');
  }
}

/** Stands where the Holder's locks are wanted. */
@Step({ name: 'Cue' })
class CueStep {
  constructor(private readonly cues: Cues) {}
  waitFor(_way: Way) {
    return until(this.cues.take(1));
  }
  execute(way: Way) {
    const next = goToMany(to(TakerStep));
    return way === 'cancel' ? next.cancelling(HolderStep) : next;
  }
}

@Step({ name: 'Taker' })
class TakerStep {
  constructor(private readonly account: Account) {}
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, `taker saw ${this.account.get()}`);
    return gracefulComplete('taken');
  }
}

@Step({ name: 'GiveUp' })
class GiveUpStep {
  execute(_way: Way) {
    return deadEnd();
  }
}

@Flow()
class HolderFlow {
  static readonly start = StartStep();
  static readonly steps = [BothStep, HolderStep, CueStep, TakerStep, GiveUpStep];
}

/** Begins with both Steps; a continued run with none. */
function StartStep() {
  @Step({ name: 'Start' })
  class Start {
    constructor(private readonly account: Account) {}
    execute(way: Way, _ctx: StepContext) {
      return this.account.get() === undefined ? goToMany(to(BothStep, way)) : deadEnd();
    }
  }
  return Start;
}

const saw: Record<Way, string> = {
  success: 'taker saw 1',
  throw: 'taker saw undefined',
  recover: 'taker saw undefined',
  timeout: 'taker saw undefined',
  cancel: 'taker saw undefined',
  continueAsNew: 'taker saw 1',
  crash: 'taker saw 1',
};

describeOnEveryStore('Attribute locks', (stack) => {
  const system = stack.shared({ flows: [HolderFlow] });

  for (const way of Object.keys(saw) as Way[]) {
    it(`[C39] a lock does not outlive its holder: ${way}`, async () => {
      const flowId = fresh(way);
      await system.client.start(HolderFlow, flowId, way);
      const gated = way !== 'throw' && way !== 'recover';
      if (gated) await eventually(() => assert.equal(gate.arrived(flowId), 1));
      await system.client.publish(HolderFlow, flowId, Cues, 'now');
      if (way === 'crash') await system.crash();
      else if (way === 'timeout') {
        for (const attempt of [1, 2]) {
          await eventually(() => assert.equal(gate.arrived(flowId), attempt));
          await system.advance(61_000);
        }
      } else gate.open(flowId);
      assert.equal(await system.client.result(HolderFlow, flowId, { deadline: '15s' }), 'taken');
      assert.ok(log.of(flowId).includes(saw[way]), log.of(flowId).join());
      const { locks, steps } = await system.client.describe(flowId);
      assert.deepEqual([locks, steps], [[], []]);
      gate.open(flowId);
    });
  }

  for (const how of ['cancel', 'fail', 'terminate'] as const) {
    it(`[C39] nor does it outlive the Flow: ${how}`, async () => {
      const flowId = fresh(how);
      await system.client.start(HolderFlow, flowId, 'success');
      await eventually(() => assert.equal(gate.arrived(flowId), 1));
      assert.equal((await system.client.describe(flowId)).locks.length, 1);
      await system.client.stop(flowId, how, 'enough');
      assert.deepEqual((await system.client.describe(flowId)).locks, []);
      await system.crash();
      assert.deepEqual((await system.client.describe(flowId)).locks, []);
      gate.open(flowId);
    });
  }
});
