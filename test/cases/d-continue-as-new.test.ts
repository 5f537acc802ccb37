import assert from 'node:assert/strict';
import {
  Attribute,
  allOf,
  Channel,
  type Client,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  Lock,
  Rpc,
  RpcContext,
  Step,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsIn } from '../support/observed-store';
import { fresh } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

@Attribute()
class Seen extends DurableAttribute<number[]> {}

@Attribute(Lock.exclusive)
class Count extends DurableAttribute<number> {}

@Channel()
class Inbox extends DurableChannel<number> {}

@Channel()
class Switches extends DurableChannel<string> {}

@Step({ name: 'Eat', retry: { initialInterval: 1 } })
class EatStep {
  constructor(
    private readonly seen: Seen,
    private readonly inbox: Inbox,
  ) {}
  waitFor(withTimer: boolean) {
    const message = this.inbox.take(1);
    return withTimer ? allOf(message, Timer.after(0)) : until(message);
  }
  execute(withTimer: boolean) {
    this.seen.set([...(this.seen.get() ?? []), ...this.inbox.received()]);
    return continueAsNew(EatFlow, withTimer);
  }
}

@Flow()
class EatFlow {
  static readonly start = EatStep;
}

/** Takes much of what there is; every tenth Step begins a new run. */
@Step({ name: 'Busy', retry: { initialInterval: 1 } })
class BusyStep {
  constructor(
    private readonly seen: Seen,
    private readonly inbox: Inbox,
  ) {}
  waitFor(_step: number) {
    return until(this.inbox.takeBetween(1, 100));
  }
  execute(step: number) {
    this.seen.set([...(this.seen.get() ?? []), ...this.inbox.received()]);
    return step % 10 === 9 ? continueAsNew(BusyFlow, step + 1) : goTo(BusyStep, step + 1);
  }
}

@Flow()
class BusyFlow {
  static readonly start = BusyStep;
  constructor(
    private readonly count: Count,
    private readonly inbox: Inbox,
  ) {}

  @Rpc({ locks: [Count] })
  touch() {
    this.count.set((this.count.get() ?? 0) + 1);
    return this.inbox.size;
  }
}

@Step({ name: 'Switch', retry: { initialInterval: 1 } })
class SwitchStep {
  constructor(private readonly switches: Switches) {}
  waitFor() {
    return until(this.switches.take(1));
  }
  execute() {
    return continueAsNew(SwitchFlow);
  }
}

@Step({ name: 'SwitchNow', retry: { initialInterval: 1 } })
class SwitchNowStep {
  execute() {
    return continueAsNew(SwitchFlow);
  }
}

/** An RPC counts and makes the Flow continue as new: by a message, or by a Step of its own. */
@Flow()
class SwitchFlow {
  static readonly start = SwitchStep;
  static readonly steps = [SwitchNowStep];
  constructor(
    private readonly count: Count,
    private readonly switches: Switches,
  ) {}

  @Rpc({ locks: [Count] })
  add(by: 'message' | 'step', context: RpcContext) {
    const count = (this.count.get() ?? 0) + 1;
    this.count.set(count);
    if (by === 'message') this.switches.publish('go');
    else context.start(SwitchNowStep);
    return count;
  }
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);

/** Runs of a chain, the latest first. */
async function runsOf(client: Client, flowId: string): Promise<number> {
  let runs = 1;
  let { previousRunId } = await client.describe(flowId);
  for (; previousRunId !== null; runs++) {
    ({ previousRunId } = await client.describe(flowId, { runId: previousRunId }));
  }
  return runs;
}

describeOnEveryStore('Continue-as-new', (stack) => {
  for (const withTimer of [false, true]) {
    it(`[C12] unread messages go along once and in order${withTimer ? ', with a timer of zero between' : ''}`, async () => {
      const system = await stack.open({ flows: [EatFlow] });
      const flowId = fresh('eat');
      await system.client.start(EatFlow, flowId, withTimer);
      const messages = 120;
      const sent = upTo(messages).map((i) => system.client.publish(EatFlow, flowId, Inbox, i));
      await Promise.all(sent);
      await eventually(async () => {
        const seen = (await system.client.attributes(EatFlow, flowId)).get(Seen);
        assert.deepEqual(seen, upTo(messages));
      });
      const idle = await eventually(async () => {
        const description = await system.client.describe(flowId);
        assert.equal(description.steps[0]?.state, 'waiting');
        return description;
      });
      assert.equal(await runsOf(system.client, flowId), messages + 1);
      await system.crash();
      await system.advance(3_600_000);
      // Nothing that was consumed comes back, and no run starts without a message.
      const later = await system.client.describe(flowId);
      assert.deepEqual([later.runId, later.events, later.unread], [idle.runId, idle.events, []]);
    });
  }

  it('[C14] continues under constant traffic, without a backlog and without losing anything', async () => {
    const system = await stack.open({ flows: [BusyFlow] });
    const flowId = fresh('busy');
    await system.client.start(BusyFlow, flowId, 0);
    const rpc = system.client.rpc(BusyFlow, flowId);
    const messages = 2_000;
    const window = 40;
    let next = 0;
    let calls = 0;
    let longest = 0;
    const publisher = async () => {
      while (next < messages) await system.client.publish(BusyFlow, flowId, Inbox, next++);
    };
    const caller = async () => {
      while (next < messages) {
        longest = Math.max(longest, await rpc.touch());
        calls++;
      }
    };
    await Promise.all([caller(), ...upTo(window).map(publisher)]);
    const seen = await eventually(async () => {
      const all = (await system.client.attributes(BusyFlow, flowId)).get(Seen) ?? [];
      assert.equal(all.length, messages);
      return all;
    });
    assert.deepEqual(
      [...seen].sort((a, b) => a - b),
      upTo(messages),
    );
    assert.equal((await system.client.attributes(BusyFlow, flowId)).get(Count), calls);
    assert.ok(longest <= 10 * window, `backlog of ${longest}`);
    // 100 messages a Step at most, ten Steps a run.
    assert.ok((await runsOf(system.client, flowId)) >= 3);
    const { steps, unread } = await system.client.describe(flowId);
    assert.deepEqual([steps.length, unread.length], [1, 0]);
  });

  it('[C15] an RPC that also makes the Flow continue is applied once and answered, over crashes', async () => {
    const system = await stack.open({ flows: [SwitchFlow] });
    const flowId = fresh('switch');
    await system.client.start(SwitchFlow, flowId);
    const total = 150;
    const answers: number[] = [];
    let next = 0;
    let crashing: Promise<void> | undefined;
    let crashes = 0;
    system.store.faults = {
      // What was written is saved, and nobody has heard of it.
      afterWrite: (batch) => {
        if (crashes >= Math.floor(next / 30) || !eventsIn(batch).includes('RpcCompleted')) return;
        crashes++;
        crashing = system.crash();
      },
    };
    const call = async () => {
      while (next < total) {
        const number = next++;
        for (let done = false; !done; ) {
          await crashing;
          try {
            const rpc = system.client.rpc(SwitchFlow, flowId, { requestId: `${flowId}/${number}` });
            answers.push(await rpc.add(number % 2 === 0 ? 'message' : 'step'));
            done = true;
          } catch (error) {
            // The client went with the process; its user repeats the call with the same id.
            assert.equal((error as { code?: string }).code, 'CLOSED');
          }
        }
      }
    };
    await Promise.all(upTo(10).map(call));
    assert.ok(crashes >= 3, `${crashes} crashes`);
    assert.deepEqual(
      answers.sort((a, b) => a - b),
      upTo(total).map((i) => i + 1),
    );
    assert.equal((await system.client.attributes(SwitchFlow, flowId)).get(Count), total);
    await eventually(async () => {
      const { steps, unread } = await system.client.describe(flowId);
      assert.deepEqual([steps.at(-1)?.state, unread], ['waiting', []]);
    });
    assert.ok((await runsOf(system.client, flowId)) > total / 4);
  });
});
