import assert from 'node:assert/strict';
import {
  allOf,
  anyCombinationOf,
  anyOf,
  Channel,
  DurableChannel,
  DurableChannelMap,
  Flow,
  gracefulComplete,
  Step,
  type StepContext,
  Timer,
  until,
  type Wait,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, stepStates } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

@Channel()
class Apples extends DurableChannel<number> {}

@Channel()
class Pears extends DurableChannel<string> {}

@Channel()
class Boxes extends DurableChannelMap<number> {}

interface Channels {
  readonly apples: Apples;
  readonly pears: Pears;
  readonly boxes: Boxes;
}

/** Waits are code, so tests name them. */
const waits: Record<string, (channels: Channels) => Wait> = {
  'until 2 apples': ({ apples }) => until(apples.take(2)),
  'until a timer of 1 ms': () => until(Timer.after(1, 't')),
  'until a past date': () => until(Timer.at(new Date(0), 't')),
  'until a date': () => until(Timer.at(Date.now() + 5, 't')),
  'all of apple and pear': ({ apples, pears }) => allOf(apples.take(1), pears.take(1)),
  'all of apple and timer': ({ apples }) => allOf(apples.take(1), Timer.after('1h', 't')),
  'any of apple, pear, timer': ({ apples, pears }) => anyOf(apples.take(1), pears.take(1), Timer.after('1h', 't')),
  'any of pear, apple': ({ apples, pears }) => anyOf(pears.take(1), apples.take(1)),
  'any of apple, pear, past timers': ({ apples, pears }) =>
    anyOf(apples.take(1), pears.take(1), Timer.after(0, 'first'), Timer.after(0, 'second')),
  combinations: ({ apples, pears }) => {
    const apple = apples.take(1, 'apple');
    return anyCombinationOf([apple, pears.take(2, 'two pears')], [apple, Timer.after('1h', 't')]);
  },
  'both combinations': ({ apples, pears }) =>
    anyCombinationOf([pears.take(1, 'pear')], [Timer.after(0, 't')], [apples.take(1, 'apple')]),
  'take 2': ({ apples }) => until(apples.take(2)),
  'take at least 2': ({ apples }) => until(apples.takeAtLeast(2)),
  'take at least 0': ({ apples }) => until(apples.takeAtLeast(0)),
  'take up to 2': ({ apples }) => until(apples.takeUpTo(2)),
  'take between 2 and 3': ({ apples }) => until(apples.takeBetween(2, 3)),
  'several on one Channel': ({ apples }) =>
    allOf(apples.takeBetween(1, 3, 'a'), apples.take(2, 'b'), apples.takeAtLeast(1, 'c')),
  'box b': ({ boxes }) => until(boxes.take('b', 1)),
  'for ever': ({ apples }) => until(apples.take(1_000)),
};

const results = new Log<unknown>();
const gate = new Gate();

@Step({ name: 'Pick', retry: { initialInterval: 1 } })
class PickStep {
  constructor(
    private readonly apples: Apples,
    private readonly pears: Pears,
    private readonly boxes: Boxes,
  ) {}

  waitFor(wait: string) {
    return waits[wait]!(this as unknown as Channels);
  }

  async execute(_wait: string, ctx: StepContext) {
    const received = {
      apples: this.apples.received(),
      pears: this.pears.received(),
      boxes: [...this.boxes.received('a'), ...this.boxes.received('b')],
      fired: ['t', 'first', 'second'].filter((id) => ctx.fired(id)),
      anyFired: ctx.fired(),
    };
    results.add(ctx.flowId, received);
    if (ctx.flowId.startsWith('flaky') && ctx.attempt < 3) throw new Error('again');
    if (ctx.flowId.startsWith('gated')) await gate.pass(ctx.flowId);
    return gracefulComplete(received);
  }
}

@Flow()
class PickFlow {
  static readonly start = PickStep;
}

const nothing = { apples: [], pears: [], boxes: [], fired: [], anyFired: false };
const flows = [PickFlow];

describeOnEveryStack('Wait', flows, (stack) => {
  const system = stack.shared({ flows });

  const start = async (wait: string, name = 'wait') => {
    const flowId = fresh(name);
    await system.client.start(PickFlow, flowId, wait);
    return flowId;
  };
  const waiting = async (wait: string, name?: string) => {
    const flowId = await start(wait, name);
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Pick-1': 'waiting' }));
    return flowId;
  };
  const apples = (flowId: string, ...values: number[]) =>
    system.client.publishAll(
      PickFlow,
      flowId,
      values.map((value) => ({ channel: Apples, value })),
    );
  const pears = (flowId: string, ...values: string[]) =>
    system.client.publishAll(
      PickFlow,
      flowId,
      values.map((value) => ({ channel: Pears, value })),
    );
  const result = (flowId: string) => system.client.result(PickFlow, flowId);
  const unread = async (flowId: string) =>
    (await system.client.describe(flowId)).unread.map(({ channel, messages }) => `${channel}: ${messages}`);
  const stillWaiting = async (flowId: string) =>
    assert.deepEqual(await stepStates(system.client, flowId), { 'Pick-1': 'waiting' });

  it('[W1] until waits for one condition', async () => {
    const flowId = await waiting('until 2 apples');
    await apples(flowId, 1);
    await stillWaiting(flowId);
    await apples(flowId, 2);
    assert.deepEqual(await result(flowId), { ...nothing, apples: [1, 2] });
  });

  for (const wait of ['until a timer of 1 ms', 'until a past date', 'until a date']) {
    it(`[W1] ${wait}`, async () => {
      assert.deepEqual(await result(await start(wait)), { ...nothing, fired: ['t'], anyFired: true });
    });
  }

  it('[W1] allOf waits until all conditions hold at once', async () => {
    const flowId = await waiting('all of apple and pear');
    await pears(flowId, 'p');
    await stillWaiting(flowId);
    assert.deepEqual(await unread(flowId), ['Pears: 1']);
    await apples(flowId, 1);
    assert.deepEqual(await result(flowId), { ...nothing, apples: [1], pears: ['p'] });
  });

  it('[W1] allOf takes Channels and timers together', async () => {
    const flowId = await waiting('all of apple and timer');
    await apples(flowId, 1);
    await stillWaiting(flowId);
    await system.advance(3_600_000);
    assert.deepEqual(await result(flowId), { ...nothing, apples: [1], fired: ['t'], anyFired: true });
  });

  it('[W1] anyOf waits until one holds: a Channel, or the timer', async () => {
    const byChannel = await waiting('any of apple, pear, timer');
    const byTimer = await waiting('any of apple, pear, timer');
    await pears(byChannel, 'p');
    assert.deepEqual(await result(byChannel), { ...nothing, pears: ['p'] });
    await system.advance(3_600_000);
    assert.deepEqual(await result(byTimer), { ...nothing, fired: ['t'], anyFired: true });
  });

  it('[W1] anyCombinationOf waits until all of one combination hold', async () => {
    const first = await waiting('combinations');
    const second = await waiting('combinations');
    for (const flowId of [first, second]) await apples(flowId, 1);
    await pears(first, 'p');
    await stillWaiting(first);
    await pears(first, 'q');
    assert.deepEqual(await result(first), { ...nothing, apples: [1], pears: ['p', 'q'] });
    await system.advance(3_600_000);
    assert.deepEqual(await result(second), { ...nothing, apples: [1], fired: ['t'], anyFired: true });
  });

  it('[W1] ids are required in combinations, and unique in every wait', () => {
    const channel = new Apples();
    const definition = { code: 'DEFINITION' };
    assert.throws(() => anyCombinationOf([channel.take(1)]), definition);
    assert.throws(() => anyCombinationOf([channel.take(1, 'a')], [channel.take(2, 'a')]), definition);
    assert.throws(() => anyOf(channel.take(1, 'a'), Timer.after(1, 'a')), definition);
    assert.throws(() => allOf(Timer.after(1, 'a'), Timer.after(2, 'a')), definition);
    for (const wait of [anyOf, allOf, anyCombinationOf] as (() => Wait)[]) assert.throws(wait, definition);
    anyOf(channel.take(1), channel.take(2), Timer.after(1));
  });

  it('[W2] timers are tried before Channels, in the order declared, and the loser consumes nothing', async () => {
    const slow = await stack.open({ flows, slots: 0 });
    const flowId = fresh('order');
    await slow.client.start(PickFlow, flowId, 'any of apple, pear, past timers');
    await slow.client.publish(PickFlow, flowId, Apples, 1);
    await slow.client.publish(PickFlow, flowId, Pears, 'p');
    await slow.crash({ slots: 1 });
    assert.deepEqual(await slow.client.result(PickFlow, flowId), { ...nothing, fired: ['first'], anyFired: true });
    const { unread: left } = await slow.client.describe(flowId);
    assert.deepEqual(left.map(({ channel, messages }) => [channel, messages]).sort(), [
      ['Apples', 1],
      ['Pears', 1],
    ]);
  });

  it('[W2] Channels are tried in the order declared; combinations in theirs', async () => {
    const slow = await stack.open({ flows, slots: 0 });
    const [channels, combinations] = [fresh('order'), fresh('order')];
    for (const [flowId, wait] of [
      [channels, 'any of pear, apple'],
      [combinations, 'both combinations'],
    ] as const) {
      await slow.client.start(PickFlow, flowId, wait);
      await slow.client.publish(PickFlow, flowId, Apples, 1);
      await slow.client.publish(PickFlow, flowId, Pears, 'p');
    }
    await slow.crash({ slots: 1 });
    for (const flowId of [channels, combinations]) {
      assert.deepEqual(await slow.client.result(PickFlow, flowId), { ...nothing, pears: ['p'] });
      assert.deepEqual((await slow.client.describe(flowId)).unread, [
        { channel: 'Apples', key: undefined, messages: 1 },
      ]);
    }
  });

  it('[W3] consumption and the move to execute are one write, and no message leaves the queue before', async () => {
    const flowId = await waiting('until 2 apples', 'gated');
    await apples(flowId, 1);
    assert.deepEqual(await unread(flowId), ['Apples: 1']);
    const { store } = system;
    store.keepBatches = true;
    await apples(flowId, 2, 3);
    await eventually(() => gate.arrived(flowId) === 1);
    store.keepBatches = false;
    assert.deepEqual(
      store.batches
        .splice(0)
        // A worker that has to claim the attempt starts it in a later write.
        .map((batch) => eventsIn(batch).filter((kind) => kind !== 'AttemptStarted'))
        .filter((kinds) => kinds.length > 0),
      [['MessagePublished', 'MessagePublished', 'WaitSatisfied']],
    );
    assert.deepEqual(await unread(flowId), ['Apples: 1']);
    gate.open(flowId);
    assert.deepEqual(await result(flowId), { ...nothing, apples: [1, 2] });
  });

  it('[W3] consumed messages travel with the execution through all retries', async () => {
    const flowId = await waiting('until 2 apples', 'flaky');
    await apples(flowId, 1, 2, 3);
    await result(flowId);
    const expected = { ...nothing, apples: [1, 2] };
    assert.deepEqual(results.of(flowId), [expected, expected, expected]);
    assert.deepEqual(await unread(flowId), ['Apples: 1']);
  });

  it('[W3] consumed messages are not put back when execute is cancelled', async () => {
    const flowId = await waiting('until 2 apples', 'gated');
    await apples(flowId, 1, 2, 3);
    await eventually(() => gate.arrived(flowId) === 1);
    await system.client.stop(flowId, 'cancel', 'no more');
    assert.deepEqual(await unread(flowId), ['Apples: 1']);
    gate.open(flowId);
  });

  it('[W4] take takes exactly n', async () => {
    const flowId = await waiting('take 2');
    await apples(flowId, 1, 2, 3);
    assert.deepEqual(await result(flowId), { ...nothing, apples: [1, 2] });
  });

  it('[W4] takeAtLeast takes all there are, once there are n; of 0 it is ready at once', async () => {
    const flowId = await waiting('take at least 2');
    await apples(flowId, 1);
    await stillWaiting(flowId);
    await apples(flowId, 2, 3, 4);
    const received = ((await result(flowId)) as typeof nothing).apples;
    const { unread: left } = await system.client.describe(flowId);
    assert.deepEqual(received, [1, 2, 3, 4]);
    assert.deepEqual(left, []);
    assert.deepEqual(await result(await start('take at least 0')), nothing);
  });

  it('[W4] takeUpTo is ready at once, with none, and takes at most n', async () => {
    assert.deepEqual(await result(await start('take up to 2')), nothing);
    const slow = await stack.open({ flows, slots: 0 });
    const flowId = fresh('upTo');
    await slow.client.start(PickFlow, flowId, 'take up to 2');
    for (const value of [1, 2, 3]) await slow.client.publish(PickFlow, flowId, Apples, value);
    await slow.crash({ slots: 1 });
    assert.deepEqual(await slow.client.result(PickFlow, flowId), { ...nothing, apples: [1, 2] });
  });

  it('[W4] takeBetween waits for the least and takes the most', async () => {
    const few = await waiting('take between 2 and 3');
    await apples(few, 1);
    await stillWaiting(few);
    await apples(few, 2);
    assert.deepEqual(await result(few), { ...nothing, apples: [1, 2] });
    const many = await waiting('take between 2 and 3');
    await apples(many, 1, 2, 3, 4);
    assert.deepEqual(await result(many), { ...nothing, apples: [1, 2, 3] });
  });

  it('[W4] several conditions on one Channel: minimums in declaration order, then the rest is given', async () => {
    const flowId = await waiting('several on one Channel');
    await apples(flowId, 1, 2, 3);
    await stillWaiting(flowId);
    await apples(flowId, 4, 5, 6, 7, 8);
    // a has 1 to 3, b exactly 2, c all that is left: least 4 of 8, spare 4, of which a takes 2 and c the others.
    assert.deepEqual(await result(flowId), { ...nothing, apples: [1, 2, 3, 4, 5, 6, 7, 8] });
    const [satisfied] = await eventsOf(system.client, flowId, 'WaitSatisfied');
    const amounts = (satisfied!.fields.messages as [number, string[]][]).map(([index, keys]) => [index, keys.length]);
    assert.deepEqual(amounts, [
      [0, 3],
      [1, 2],
      [2, 3],
    ]);
  });

  it('[W4] the keys of a Channel map are queues of their own', async () => {
    const flowId = await waiting('box b');
    await system.client.publish(PickFlow, flowId, Boxes, 1, { key: 'a' });
    await stillWaiting(flowId);
    await system.client.publish(PickFlow, flowId, Boxes, 2, { key: 'b' });
    assert.deepEqual(await result(flowId), { ...nothing, boxes: [2] });
  });

  it('[W5] a waiting Step holds no worker slot and writes nothing', async () => {
    const narrow = await stack.open({ flows, slots: 1 });
    const waiters = Array.from({ length: 20 }, () => fresh('idle'));
    for (const flowId of waiters) await narrow.client.start(PickFlow, flowId, 'for ever');
    for (const flowId of waiters) {
      await eventually(async () => assert.equal((await stepStates(narrow.client, flowId))['Pick-1'], 'waiting'));
    }
    const { writes } = narrow.stats;
    await narrow.advance(30 * 86_400_000);
    assert.equal(narrow.stats.writes, writes);
    const flowId = fresh('busy');
    await narrow.client.start(PickFlow, flowId, 'until a past date');
    await narrow.client.result(PickFlow, flowId);
  });
});

describeOnEveryStack('Wait over a crash', flows, (stack) => {
  const system = stack.shared({ flows });

  // Processes cannot be killed at a chosen write; the tests of faults and of clusters kill them at any time.
  if (!stack.isCluster) {
    it('[W3] a crash between any two writes consumes each message once, or not yet', async () => {
      let consumed = false;
      for (let keep = 0; !consumed; keep++) {
        const flowId = fresh('gated');
        await system.client.start(PickFlow, flowId, 'until 2 apples');
        let left = keep;
        let stopped = false;
        system.store.faults = {
          beforeWrite: () => {
            if (left-- <= 0) {
              stopped = true;
              return new Promise(() => {});
            }
          },
        };
        const published = system.client
          .publishAll(
            PickFlow,
            flowId,
            [1, 2, 3].map((value) => ({ channel: Apples, value, messageId: `${value}` })),
          )
          .catch(() => {});
        await eventually(() => stopped || gate.arrived(flowId) > 0);
        system.store.faults = {};
        await system.crash({ slots: 0 });
        await published;
        const events = await eventKinds(system.client, flowId);
        const { unread } = await system.client.describe(flowId);
        const there = events.filter((kind) => kind === 'MessagePublished').length;
        assert.ok(there === 0 || there === 3, 'all messages of a batch or none');
        consumed = events.includes('WaitSatisfied');
        assert.equal(unread[0]?.messages ?? 0, consumed ? 1 : there);
        await system.crash({ slots: 10 });
        await system.client.publishAll(
          PickFlow,
          flowId,
          [1, 2, 3].map((value) => ({ channel: Apples, value, messageId: `${value}` })),
        );
        gate.open(flowId);
        assert.deepEqual(await system.client.result(PickFlow, flowId), { ...nothing, apples: [1, 2] });
        assert.equal((await system.client.describe(flowId)).unread[0]?.messages, 1);
      }
    });
  }

  it('[W3] consumed messages and fired timers are still with the execution', async () => {
    const flowId = fresh('gated');
    await system.client.start(PickFlow, flowId, 'all of apple and timer');
    await system.client.publish(PickFlow, flowId, Apples, 1);
    await eventually(async () => assert.equal((await stepStates(system.client, flowId))['Pick-1'], 'waiting'));
    await system.client.skipTimer(flowId, 'Pick-1', 't');
    await eventually(() => gate.arrived(flowId) === 1);
    await system.crash();
    await eventually(() => gate.arrived(flowId) === 2);
    gate.open(flowId);
    const expected = { ...nothing, apples: [1], fired: ['t'], anyFired: true };
    assert.deepEqual(await system.client.result(PickFlow, flowId), expected);
    assert.deepEqual(results.of(flowId), [expected, expected]);
  });
});
