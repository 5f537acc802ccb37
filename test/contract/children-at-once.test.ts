import assert from 'node:assert/strict';
import {
  allOf,
  anyOf,
  Channel,
  DurableChannel,
  Flow,
  gracefulComplete,
  Step,
  type StepContext,
  startSubFlow,
  subFlow,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, refuses } from '../support/expect';
import { fresh } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

@Channel()
class Ends extends DurableChannel<string> {}

@Step({ name: 'Held' })
class HeldStep {
  constructor(private readonly ends: Ends) {}

  waitFor() {
    return until(this.ends.take(1));
  }

  execute(n: number) {
    return gracefulComplete(n);
  }
}

@Flow({ name: 'HeldChild' })
class HeldChild {
  static readonly start = HeldStep;
}

interface Wide {
  readonly name: string;
  readonly count: number;
}

@Step({ name: 'All' })
class AllStep {
  waitFor({ name, count }: Wide) {
    const each = (n: number) => subFlow(HeldChild, n, { parentClose: 'terminate', id: `${n}`, flowId: `${name}-${n}` });
    return allOf(...Array.from({ length: count }, (_, n) => each(n)));
  }

  execute({ count }: Wide, ctx: StepContext) {
    return gracefulComplete(Array.from({ length: count }, (_, n) => ctx.subFlow(`${n}`)?.status));
  }
}

@Flow({ name: 'HeldParent', childrenAtOnce: 2 })
class HeldParent {
  static readonly start = AllStep;
}

/** Starts some that it abandons and some that it would cancel, and closes. */
@Step({ name: 'Leave' })
class LeaveStep {
  execute({ name, count }: Wide) {
    for (let n = 0; n < count; n++) {
      const parentClose = n % 2 === 0 ? 'abandon' : 'cancel';
      startSubFlow(HeldChild, n, { parentClose, flowId: `${name}-${n}` });
    }
    return gracefulComplete();
  }
}

@Flow({ name: 'LeavingParent', childrenAtOnce: 1 })
class LeavingParent {
  static readonly start = LeaveStep;
}

/** Waits for a child that goes with the wait, and for a moment. */
@Step({ name: 'Race' })
class RaceStep {
  waitFor({ name, count }: Wide) {
    const each = (n: number) =>
      subFlow(HeldChild, n, { parentClose: 'terminate', id: `${n}`, flowId: `${name}-${n}`, cancelWithWait: true });
    return anyOf(Timer.after('1h', 'time'), ...Array.from({ length: count }, (_, n) => each(n)));
  }

  execute({ count }: Wide, ctx: StepContext) {
    return gracefulComplete(Array.from({ length: count }, (_, n) => ctx.subFlow(`${n}`)?.status));
  }
}

@Flow({ name: 'RacingParent', childrenAtOnce: 1 })
class RacingParent {
  static readonly start = RaceStep;
}

const flows = [HeldChild, HeldParent, LeavingParent, RacingParent];

/** Those of a parent that are running, by number. */
async function running(system: System, parent: string): Promise<number[]> {
  const { children } = await system.client.describe(parent);
  const open = children.filter(({ status }) => status === 'running');
  return open.map(({ flowId }) => Number(flowId.slice(flowId.lastIndexOf('-') + 1))).sort((a, b) => a - b);
}

async function runs(system: System, parent: string, ...want: number[]): Promise<void> {
  await eventually(async () => assert.deepEqual(await running(system, parent), want));
}

async function end(system: System, flowId: string): Promise<void> {
  await system.client.publish(HeldChild, flowId, Ends, 'end');
  await system.client.result(HeldChild, flowId);
}

describeOnEveryStack('children at once', (stack) => {
  const system = stack.shared({ flows });

  it('[U6] no more are open than may be at once, and those that wait start in their order', async () => {
    const name = fresh('limited');
    await system.client.start(HeldParent, name, { name, count: 5 });
    await runs(system, name, 0, 1);
    await refuses(system.client.describe(`${name}-2`), 'FLOW_NOT_FOUND');
    const { children } = await system.client.describe(name);
    assert.deepEqual(
      children.map(({ status }) => status),
      ['running', 'running', 'held', 'held', 'held'],
    );
    await end(system, `${name}-1`);
    await runs(system, name, 0, 2);
    await end(system, `${name}-0`);
    await end(system, `${name}-2`);
    await runs(system, name, 3, 4);
    await end(system, `${name}-3`);
    await end(system, `${name}-4`);
    assert.deepEqual(await system.client.result(HeldParent, name), Array(5).fill('completed'));
    const admitted = (await eventKinds(system.client, name)).filter((kind) => kind === 'ChildAdmitted');
    assert.equal(admitted.length, 3);
  });

  it('[U6] [F9] the limit is that of the start, and can be raised while it runs', async () => {
    const name = fresh('raised');
    await system.client.start(HeldParent, name, { name, count: 4 }, { childrenAtOnce: 1 });
    await runs(system, name, 0);
    await system.client.updateConfig(name, { childrenAtOnce: 3 });
    await runs(system, name, 0, 1, 2);
    await system.client.stop(name, 'terminate', 'enough');
    await refuses(system.client.updateConfig(name, { childrenAtOnce: 0 }), 'INVALID_ARGUMENT', /childrenAtOnce/);
  });

  it('[U6] [U3] of those that wait when the parent closes, the abandoned start and the others never do', async () => {
    const name = fresh('left');
    await system.client.start(LeavingParent, name, { name, count: 6 });
    await system.client.result(LeavingParent, name);
    for (const n of [0, 2, 4]) {
      await eventually(async () => assert.equal((await system.client.describe(`${name}-${n}`)).status, 'running'));
    }
    for (const n of [1, 3, 5]) await refuses(system.client.describe(`${name}-${n}`), 'FLOW_NOT_FOUND');
  });

  it('[U6] [U1] one that waits and goes with its wait never starts', async () => {
    const name = fresh('raced');
    await system.client.start(RacingParent, name, { name, count: 3 });
    await runs(system, name, 0);
    await system.client.skipTimer(name, 'Race-1', 'time');
    await system.client.result(RacingParent, name);
    await eventually(async () => assert.equal((await system.client.describe(`${name}-0`)).status, 'cancelled'));
    for (const n of [1, 2]) await refuses(system.client.describe(`${name}-${n}`), 'FLOW_NOT_FOUND');
  });

  it('[U6] [P6] the limit holds over a crash', async () => {
    const own = await stack.open({ flows });
    await own.client.start(HeldParent, 'p', { name: 'p', count: 4 });
    await runs(own, 'p', 0, 1);
    await own.crash();
    await end(own, 'p-0');
    await runs(own, 'p', 1, 2);
    await own.crash();
    await runs(own, 'p', 1, 2);
    for (const n of [1, 2, 3]) await end(own, `p-${n}`);
    assert.deepEqual(await own.client.result(HeldParent, 'p'), Array(4).fill('completed'));
  });
});
