import assert from 'node:assert/strict';
import {
  allOf,
  Channel,
  DurableChannel,
  Flow,
  gracefulComplete,
  Step,
  type StepContext,
  startSubFlow,
  subFlow,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const log = new Log();

@Channel()
class Wakes extends DurableChannel<true> {}

@Step({ name: 'Child', retry: { initialInterval: 1, nonRetryable: [RangeError] } })
class ChildStep {
  constructor(private readonly wakes: Wakes) {}

  waitFor(how: 'complete' | 'fail' | 'wait') {
    return until(how === 'wait' ? this.wakes.take(1) : this.wakes.takeUpTo(1));
  }

  execute(how: 'complete' | 'fail' | 'wait', ctx: StepContext) {
    log.add(ctx.flowId, 'runs');
    if (how === 'fail') throw new RangeError('as told');
    return gracefulComplete(ctx.flowId);
  }
}

@Flow({ name: 'Kid' })
class KidFlow {
  static readonly start = ChildStep;
}

@Flow({ name: 'HastyKid', timeout: '1h' })
class HastyKidFlow {
  static readonly start = ChildStep;
}

/** Nothing of it is left as soon as it has closed, but what its parent has not heard of yet. */
@Flow({ name: 'BriefKid', retention: 1 })
class BriefKidFlow {
  static readonly start = ChildStep;
}

@Step({ name: 'Outcomes', retry: { initialInterval: 1 } })
class OutcomesStep {
  waitFor(name: string) {
    const options = (id: string) => ({ id, flowId: `${name}-${id}`, parentClose: 'abandon' }) as const;
    return allOf(
      subFlow(KidFlow, 'complete', options('completed')),
      subFlow(KidFlow, 'fail', options('failed')),
      subFlow(KidFlow, 'wait', options('cancelled')),
      subFlow(HastyKidFlow, 'wait', options('timed out')),
      subFlow(KidFlow, 'complete', options('taken')),
      subFlow(BriefKidFlow, 'complete', options('removed')),
    );
  }

  execute(_name: string, ctx: StepContext) {
    log.add(ctx.flowId, 'resumes');
    return gracefulComplete(
      ['completed', 'failed', 'cancelled', 'timed out', 'taken', 'removed'].map((id) => {
        const { status, error } = ctx.subFlow(id)!;
        return [id, status, error?.name];
      }),
    );
  }
}

@Flow({ name: 'OutcomesParent' })
class OutcomesFlow {
  static readonly start = OutcomesStep;
}

@Step({ name: 'JoinAll', retry: { initialInterval: 1 } })
class JoinAllStep {
  waitFor(children: readonly string[]) {
    const conditions = children.map((flowId) =>
      subFlow(KidFlow, 'wait', { id: flowId, flowId, parentClose: 'abandon' }),
    );
    return allOf(...conditions);
  }

  execute(children: readonly string[], ctx: StepContext) {
    return gracefulComplete(children.map((flowId) => ctx.subFlow<string>(flowId)!.output!));
  }
}

@Flow({ name: 'JoinParent' })
class JoinFlow {
  static readonly start = JoinAllStep;
}

@Step({ name: 'Detach', retry: { initialInterval: 1 } })
class DetachStep {
  execute(child: string) {
    startSubFlow(KidFlow, 'complete', { parentClose: 'abandon', flowId: child });
    return gracefulComplete();
  }
}

@Flow({ name: 'DetachParent' })
class DetachFlow {
  static readonly start = DetachStep;
}

const flows = [KidFlow, HastyKidFlow, BriefKidFlow, OutcomesFlow, JoinFlow, DetachFlow];

const statusOf = async (system: System, flowId: string) => (await system.client.describe(flowId)).status;

describeOnEveryStack('SubFlows', (stack) => {
  it('[C29] a detached child that was started in the last turn of its parent runs, whatever dies then', async () => {
    const system = await stack.open({ flows });
    const name = fresh('detached');
    const ids = Array.from({ length: 60 }, (_, i) => `${name}-${i}`);
    let seen = 0;
    let crashing: Promise<void> | undefined;
    let crashes = 0;
    let isDown = false;
    system.store.faults = {
      // The parent's last decision is saved, and nobody has heard of it.
      afterWrite: (batch) => {
        if (!eventsIn(batch).includes('ChildRequested') || ++seen % 3 !== 0 || crashes >= 4 || isDown) return;
        crashes++;
        isDown = true;
        crashing = system.crash().finally(() => {
          isDown = false;
        });
      },
    };
    for (let from = 0; from < ids.length; from += 5) {
      await Promise.all(
        ids.slice(from, from + 5).map(async (id) => {
          for (let done = false; !done; ) {
            await crashing;
            try {
              await system.client.start(DetachFlow, `${id}-parent`, id, { requestId: id });
              done = true;
            } catch (error) {
              assert.equal((error as { code?: string }).code, 'CLOSED');
            }
          }
        }),
      );
    }
    await eventually(() => crashes > 0);
    system.store.faults = {};
    await crashing;
    for (const id of ids) {
      await eventually(async () => assert.equal(await statusOf(system, `${id}-parent`), 'completed'));
      await eventually(async () => assert.equal(await statusOf(system, id), 'completed'));
      assert.equal((await eventsOf(system.client, id, 'FlowStarted')).length, 1);
    }
  });

  it('[C30] a parent hears of every end that a child can take, and goes on once', async () => {
    const system = await stack.open({ flows });
    const name = fresh('outcomes');
    await system.client.start(KidFlow, `${name}-taken`, 'wait');
    await system.client.start(OutcomesFlow, name, name);
    for (const id of ['cancelled', 'timed out']) {
      await eventually(async () => assert.equal(await statusOf(system, `${name}-${id}`), 'running'));
    }
    await system.client.stop(`${name}-cancelled`, 'cancel', 'alone');
    await system.advance(3_700_000);
    assert.deepEqual(await system.client.result(OutcomesFlow, name), [
      ['completed', 'completed', undefined],
      ['failed', 'failed', 'RangeError'],
      ['cancelled', 'cancelled', 'Stopped'],
      ['timed out', 'failed', 'FlowTimeout'],
      ['taken', 'refused', 'FlowAlreadyExistsError'],
      ['removed', 'completed', undefined],
    ]);
    assert.deepEqual(log.of(name), ['resumes']);
    assert.deepEqual(log.of(`${name}-cancelled`), [], 'a cancelled child is not tried again');
    await eventually(async () => {
      await system.advance(120_000);
      await assert.rejects(system.client.describe(`${name}-removed`), { code: 'FLOW_NOT_FOUND' });
    });
  });

  it('[C32] no wake-up is lost when children end at the same time and writes fail, have unknown outcomes, or die', async () => {
    const system = await stack.open({ flows });
    const name = fresh('join');
    const parents = Array.from({ length: 6 }, (_, p) => ({
      id: `${name}-${p}`,
      children: Array.from({ length: 20 }, (_, c) => `${name}-${p}-${c}`),
    }));
    for (const { id, children } of parents) await system.client.start(JoinFlow, id, children);
    const all = parents.flatMap(({ children }) => children);
    for (const id of all) await eventually(() => statusOf(system, id));
    let ends = 0;
    let faults = 0;
    const bad = () => {
      faults++;
      throw new Error('the store had a bad moment');
    };
    system.store.faults = {
      beforeWrite: (batch) => {
        if (eventsIn(batch).includes('ChildClosed') && ++ends % 4 === 1 && faults < 12) bad();
      },
      afterWrite: (batch) => {
        if (eventsIn(batch).includes('FlowClosed') && ++ends % 4 === 3 && faults < 12) bad();
      },
    };
    await Promise.all(all.map((id) => system.client.publish(KidFlow, id, Wakes, true)));
    await system.crash();
    for (const { id, children } of parents) {
      assert.deepEqual(await system.client.result(JoinFlow, id), children);
      assert.equal((await eventsOf(system.client, id, 'ChildClosed')).length, children.length);
      assert.equal((await eventsOf(system.client, id, 'WaitSatisfied')).length, 1);
    }
    assert.ok(faults > 0);
  });
});
