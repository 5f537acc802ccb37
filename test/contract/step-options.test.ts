import assert from 'node:assert/strict';
import {
  Attribute,
  DurableAttribute,
  deadEnd,
  Flow,
  forceFail,
  goTo,
  goToMany,
  gracefulComplete,
  type MovementOptions,
  Step,
  type StepContext,
  to,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const attempts = new Log<number>();
const gate = new Gate();

/** Movements need their options as code, so tests name them. */
const movements: Record<string, MovementOptions> = {
  none: {},
  twice: { retry: { maximumAttempts: 2 } },
  once: { retry: { maximumAttempts: 1 } },
  'no recovery': { onFailure: null },
  'other recovery': { onFailure: () => OtherRecoveryStep },
  ASYNC: { durability: 'ASYNC' },
  'execute only': { retry: { maximumAttempts: 1 }, execute: { retry: { maximumAttempts: 2 } } },
};

interface Choice {
  readonly movement: string;
}

@Step()
class ChooseStep {
  execute(choice: Choice) {
    return goTo(FailingStep, choice).with(movements[choice.movement]!);
  }
}

@Step({ retry: { initialInterval: 7, maximumAttempts: 3 }, onFailure: () => RecoveryStep })
class FailingStep {
  execute(_choice: Choice, ctx: StepContext) {
    attempts.add(ctx.flowId, ctx.attempt);
    throw new Error('always');
    // biome-ignore lint/correctness/noUnreachable: gives the method its type
    return goTo(RecoveryStep, _choice);
  }
}

@Step()
class RecoveryStep {
  execute(_choice: Choice) {
    return gracefulComplete('recovery');
  }
}

@Step()
class OtherRecoveryStep {
  execute(_choice: Choice) {
    return gracefulComplete('other recovery');
  }
}

@Flow()
class OptionsFlow {
  static readonly start = ChooseStep;
  static readonly steps = [FailingStep, RecoveryStep, OtherRecoveryStep];
}

@Step({ timeout: '2h', retry: { initialInterval: 1 } })
class HangingStep {
  async execute(_input: undefined, ctx: StepContext) {
    attempts.add(ctx.flowId, ctx.attempt);
    if (ctx.attempt === 1) await gate.pass(ctx.flowId);
    return gracefulComplete(ctx.attempt);
  }
}

@Step()
class HastyStep {
  execute() {
    return goTo(HangingStep).with({ timeout: '90m', execute: { timeout: '10m' } });
  }
}

@Flow()
class HangingFlow {
  static readonly start = HangingStep;
}

@Flow()
class HastyFlow {
  static readonly start = HastyStep;
  static readonly steps = [HangingStep];
}

@Step({ startTimeout: '1h', onFailure: () => LateStep })
class QueuedStep {
  execute(_input: undefined) {
    return forceFail('it was taken');
  }
}

@Step()
class LateStep {
  execute(_input: undefined, ctx: StepContext) {
    const { failure, progress, attempts: used } = ctx.recovery!;
    return gracefulComplete({ name: failure.name, progress, used });
  }
}

@Flow()
class QueuedFlow {
  static readonly start = QueuedStep;
  static readonly steps = [LateStep];
}

@Attribute('exclusive')
class Purse extends DurableAttribute<number> {}

@Step()
class LockingStep {
  execute() {
    return goToMany(
      to(HolderStep),
      to(HolderStep),
      to(HolderStep).with({ locks: [{ attribute: Purse, mode: 'none' }] }),
    );
  }
}

@Step()
class HolderStep {
  constructor(readonly purse: Purse) {}

  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return deadEnd();
  }
}

@Flow()
class LockingFlow {
  static readonly start = LockingStep;
  static readonly steps = [HolderStep];
}

const flows = [OptionsFlow, HangingFlow, HastyFlow, QueuedFlow, LockingFlow];

describeOnEveryStack('Step options', flows, (stack) => {
  const system = stack.shared({ flows });

  const outcome = async (movement: string) => {
    const flowId = fresh('options');
    await system.client.start(OptionsFlow, flowId, { movement });
    const result = await system.client.result(OptionsFlow, flowId, { throwOnFailure: false });
    return { flowId, output: 'output' in result ? result.output : result.status, attempts: attempts.of(flowId).length };
  };

  it('[S9] a Step has options of its own', async () => {
    const { flowId, ...rest } = await outcome('none');
    assert.deepEqual(rest, { output: 'recovery', attempts: 3 });
    const failed = await eventsOf(system.client, flowId, 'AttemptFailed');
    const delays = failed.slice(0, 2).map(({ fields, at }) => (fields.retryAt as number) - at.getTime());
    assert.deepEqual(delays, [7, 14]);
  });

  it('[S9] a movement replaces them field by field', async () => {
    const { flowId, ...rest } = await outcome('twice');
    assert.deepEqual(rest, { output: 'recovery', attempts: 2 });
    const [failed] = await eventsOf(system.client, flowId, 'AttemptFailed');
    assert.equal((failed!.fields.retryAt as number) - failed!.at.getTime(), 7);
  });

  for (const [movement, output, count] of [
    ['once', 'recovery', 1],
    ['execute only', 'recovery', 2],
    ['no recovery', 'failed', 3],
    ['other recovery', 'other recovery', 3],
  ] as const) {
    it(`[S9] a movement may set retry and failure route: ${movement}`, async () => {
      const { flowId, ...rest } = await outcome(movement);
      assert.deepEqual(rest, { output, attempts: count });
    });
  }

  it('[S9] a movement may set the durability of its calls', async () => {
    const { flowId } = await outcome('ASYNC');
    const started = await eventsOf(system.client, flowId, 'AttemptStarted');
    const modes = new Map(started.map(({ fields }) => [fields.execution, fields.durability]));
    assert.deepEqual(Object.fromEntries(modes), {
      'ChooseStep-1': 'SYNC',
      'FailingStep-1': 'ASYNC',
      'RecoveryStep-1': 'SYNC',
    });
  });

  it('[S9] a movement may take other locks than its Step', async () => {
    const flowId = fresh('locking');
    await system.client.start(LockingFlow, flowId);
    await eventually(() => gate.arrived(flowId) === 2);
    assert.deepEqual(await stepStates(system.client, flowId), {
      'HolderStep-1': 'running',
      'HolderStep-2': 'locked',
      'HolderStep-3': 'running',
    });
    gate.open(flowId);
  });

  for (const [title, flow, before, execution] of [
    ['of the Step', HangingFlow, 2 * 3_600_000, 'HangingStep-1'],
    ['of the movement, the one for execute before the one for both', HastyFlow, 10 * 60_000, 'HangingStep-1'],
  ] as const) {
    it(`[S9] an attempt that outlasts its method timeout fails and is tried again: ${title}`, async () => {
      const flowId = fresh('hanging');
      await system.client.start(flow, flowId);
      await eventually(() => gate.arrived(flowId) === 1);
      await system.advance(before - 30_000);
      assert.deepEqual(await stepStates(system.client, flowId), { [execution]: 'running' });
      assert.deepEqual(attempts.of(flowId), [1]);
      await system.advance(31_000);
      assert.equal(await system.client.result(flow, flowId), 2);
      const [failed] = await eventsOf(system.client, flowId, 'AttemptFailed');
      assert.equal((failed!.fields.failure as { name: string }).name, 'MethodTimeout');
      gate.open(flowId);
    });
  }

  it('[S9] options of a movement survive a crash with it', async () => {
    const own = await stack.open({ flows, slots: 1 });
    const flowId = fresh('options');
    const blocker = fresh('hanging');
    await own.client.start(HangingFlow, blocker);
    await eventually(() => gate.arrived(blocker) === 1);
    await own.client.start(OptionsFlow, flowId, { movement: 'other recovery' });
    gate.open(blocker);
    await own.client.waitForStep(OptionsFlow, flowId, ChooseStep);
    await own.crash();
    assert.equal(await own.client.result(OptionsFlow, flowId), 'other recovery');
  });

  it('[S9] a call that no worker takes within its start timeout takes the failure route, once and without a retry', async () => {
    const own = await stack.open({ flows, slots: 0 });
    const flowId = fresh('queued');
    await own.client.start(QueuedFlow, flowId);
    await own.advance(3_540_000);
    assert.deepEqual(await stepStates(own.client, flowId), { 'QueuedStep-1': 'ready' });
    await own.advance(61_000);
    await eventually(async () => assert.deepEqual(await stepStates(own.client, flowId), { 'LateStep-1': 'ready' }));
    await own.crash({ slots: 1 });
    assert.deepEqual(await own.client.result(QueuedFlow, flowId), {
      name: 'StartTimeout',
      progress: 'NOT_STARTED',
      used: 0,
    });
  });

  it('[S9] no start timeout by default: a call waits in the queue for as long as it takes', async () => {
    const own = await stack.open({ flows, slots: 0 });
    const flowId = fresh('patient');
    await own.client.start(OptionsFlow, flowId, { movement: 'once' });
    await own.advance(365 * 86_400_000);
    assert.deepEqual(await stepStates(own.client, flowId), { 'ChooseStep-1': 'ready' });
    await own.crash({ slots: 1 });
    assert.equal(await own.client.result(OptionsFlow, flowId), 'recovery');
  });
});
