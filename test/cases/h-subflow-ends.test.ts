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
import { withProcesses } from '../support/processes';

@Channel()
class Ends extends DurableChannel<string> {}

@Step({ name: 'End' })
class EndStep {
  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'Ending', retention: '1ms' })
class EndingFlow {
  static readonly start = EndStep;
}

@Step({ name: 'Stay' })
class StayStep {
  constructor(private readonly ends: Ends) {}

  waitFor() {
    return until(this.ends.take(1));
  }

  execute() {
    return gracefulComplete('woken');
  }
}

@Flow({ name: 'Staying', retention: '1ms' })
class StayingFlow {
  static readonly start = StayStep;
}

@Step({ name: 'Join' })
class JoinStep {
  waitFor(count: number) {
    const each = (n: number) => subFlow(EndingFlow, undefined, { parentClose: 'terminate', id: `${n}` });
    return allOf(...Array.from({ length: count }, (_, n) => each(n)));
  }

  execute(count: number, ctx: StepContext) {
    return gracefulComplete(Array.from({ length: count }, (_, n) => ctx.subFlow(`${n}`)?.status));
  }
}

@Flow({ name: 'Join' })
class JoinFlow {
  static readonly start = JoinStep;
}

@Step({ name: 'Mend' })
class MendStep {
  execute() {
    return gracefulComplete();
  }
}

/** Has a recovery Step that is never needed, and SubFlows that it never comes to start. */
@Step({ name: 'Begin', onFailure: () => MendStep })
class BeginStep {
  constructor(private readonly ends: Ends) {}

  waitFor() {
    return until(this.ends.take(1));
  }

  execute() {
    startSubFlow(StayingFlow, undefined, { parentClose: 'cancel' });
    return gracefulComplete();
  }
}

@Flow({ name: 'Counted' })
class CountedFlow {
  static readonly start = BeginStep;
  static readonly steps = [MendStep];
}

describe('SubFlows: how they end', () => {
  it('[C32] a wake-up that is lost is sent again, and one that comes twice does no harm', async () => {
    await using system = await withProcesses([JoinFlow, EndingFlow]);
    await system.openWorker();
    const { client, dispatch } = system;
    const send = dispatch.send.bind(dispatch);
    const counts = { lost: 0, doubled: 0 };
    let told = 0;
    dispatch.send = async (shard, message) => {
      if (message.kind !== 'tell') return send(shard, message);
      told++;
      if (told % 2 === 0) {
        counts.lost++;
        return;
      }
      await send(shard, message);
      if (told % 3 !== 0) return;
      counts.doubled++;
      await send(shard, message);
    };
    const parents = Array.from({ length: 20 }, (_, i) => `p${i}`);
    await Promise.all(parents.map((parent) => client.start(JoinFlow, parent, 20)));
    const results = Promise.all(parents.map((parent) => client.result(JoinFlow, parent)));
    let over = false;
    results.then(
      () => {
        over = true;
      },
      () => {},
    );
    for (let rounds = 0; !over && rounds < 60; rounds++) await system.advance(6_000);
    for (const statuses of await results) assert.deepEqual(statuses, Array(20).fill('completed'));
    for (const parent of parents) {
      assert.equal((await eventsOf(client, parent, 'WaitSatisfied')).length, 1);
      assert.equal((await eventsOf(client, parent, 'ChildClosed')).length, 20);
    }
    assert.ok(counts.lost > 500 && counts.doubled > 100, JSON.stringify(counts));
  });
});

describe('Flows that are stopped in bulk', () => {
  it('[C85] none shows as running that was cancelled, whatever it never came to', async () => {
    await using system = await withProcesses([CountedFlow, StayingFlow]);
    const { client } = system;
    const some = await system.openWorker({ settings: { slots: 1 } });
    const ids = Array.from({ length: 1_000 }, (_, i) => `c${i}`);
    // Half of them have waited already, the others are queued for a worker that is gone.
    await Promise.all(ids.slice(0, 500).map((id) => client.start(CountedFlow, id)));
    await eventually(async () => {
      const { steps } = await client.describe('c499');
      assert.equal(steps[0]?.state, 'waiting');
    });
    some.kill();
    await Promise.all(ids.slice(500).map((id) => client.start(CountedFlow, id)));
    await Promise.all(ids.map((id) => client.stop(id, 'cancel', 'all of them')));
    const statuses = await Promise.all(ids.map(async (id) => (await client.describe(id)).status));
    assert.deepEqual(new Set(statuses), new Set(['cancelled']));
    await system.crashEngine();
    for (const id of ['c0', 'c499', 'c500', 'c999']) {
      const { status, steps, children } = await client.describe(id);
      assert.deepEqual({ status, steps, children }, { status: 'cancelled', steps: [], children: [] });
      const kinds = (await eventsOf(client, id, 'FlowClosed')).length;
      assert.equal(kinds, 1);
    }
  });
});
