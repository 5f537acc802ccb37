import assert from 'node:assert/strict';
import {
  Attribute,
  anyOf,
  Channel,
  type Client,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  forceComplete,
  goTo,
  gracefulComplete,
  type HistoryEvent,
  initially,
  Lock,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, refuses, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const effects = new Log();
const gate = new Gate();

@Attribute()
class Place extends DurableAttribute<string> {}

@Attribute(Lock.exclusive)
class Total extends DurableAttribute<number> {}

@Channel()
class Orders extends DurableChannel<string> {}

@Channel()
class Parcels extends DurableChannel<string> {}

@Step({ name: 'Begin' })
class BeginStep {
  constructor(private readonly place: Place) {}
  execute(order: string, ctx: StepContext) {
    effects.add(ctx.flowId, ctx.idempotencyKey);
    this.place.set(`begun with ${order} from ${this.place.get()}`);
    return goTo(ShipStep, order);
  }
}

@Step({ name: 'Ship' })
class ShipStep {
  constructor(
    private readonly orders: Orders,
    private readonly place: Place,
    private readonly total: Total,
  ) {}
  waitFor() {
    return anyOf(this.orders.take(1), Timer.after('30d', 'late'));
  }
  async execute(order: string, ctx: StepContext) {
    const [what] = this.orders.received();
    effects.add(ctx.flowId, ctx.idempotencyKey);
    if (what === 'hold') await gate.pass(ctx.flowId);
    this.total.set((this.total.get() ?? 0) + 1);
    this.place.set(`${ctx.stepExecutionId} ${what}`);
    if (what === 'end') return gracefulComplete(`${this.total.get()} of ${order}`);
    if (what === 'next') return continueAsNew(TravelFlow, `next of ${order}`);
    if (what === 'stop') return forceComplete('stopped');
    return goTo(ShipStep, order);
  }
}

@Step({ name: 'Extra' })
class ExtraStep {
  constructor(private readonly parcels: Parcels) {}
  waitFor() {
    return until(this.parcels.take(1));
  }
  execute(_: string) {
    return deadEnd();
  }
}

@Flow({ name: 'Travel', timeout: '10d', retention: '1h' })
class TravelFlow {
  static readonly start = BeginStep;
  static readonly steps = [ShipStep, ExtraStep];
  constructor(
    private readonly place: Place,
    private readonly orders: Orders,
  ) {}

  @Rpc()
  move(place: string) {
    this.place.set(place);
    return this.orders.size;
  }

  @Rpc()
  order(what: string, ctx: RpcContext) {
    this.orders.publish(what);
    ctx.start(ExtraStep, what);
  }

  @Rpc()
  cancelExtras(ctx: RpcContext) {
    ctx.cancel(ExtraStep);
  }
}

const flows = [TravelFlow];
const waiting = (client: Client, flowId: string, execution: string) =>
  eventually(async () => assert.equal((await stepStates(client, flowId))[execution], 'waiting'));

describeOnEveryStack('timeTravel', (stack) => {
  const system = stack.shared({ flows });
  const open = async (on: System = system) => {
    const { client } = on;
    const flowId = fresh('travel');
    await client.start(TravelFlow, flowId, 'tea', { attributes: [initially(Place, 'home')] });
    const publish = (what: string, messageId?: string) =>
      client.publish(TravelFlow, flowId, Orders, what, messageId === undefined ? {} : { messageId });
    const place = async (runId?: string) =>
      (await client.attributes(TravelFlow, flowId, runId === undefined ? {} : { runId })).get(Place);
    await waiting(client, flowId, 'Ship-1');
    return { client, flowId, publish, place, rpc: client.rpc(TravelFlow, flowId) };
  };

  it('[K4] [S10] to the beginning of a run that has completed: it all happens again, with other idempotency keys', async () => {
    const { client, flowId, publish, place } = await open();
    await publish('end');
    assert.equal(await client.result(TravelFlow, flowId), '1 of tea');
    const before = await client.describe(flowId);
    const history = await client.history(flowId);
    const keys = [...effects.of(flowId)];
    const { runId } = await client.timeTravel(flowId, 'beginning', { reapply: false, reason: 'once more' });
    await waiting(client, flowId, 'Ship-1');
    assert.equal(await place(), 'begun with tea from home');
    const run = await client.describe(flowId);
    assert.deepEqual([run.runId, run.previousRunId, run.status], [runId, before.runId, 'running']);
    const [first] = await client.history(flowId);
    assert.equal(first!.kind, 'TimeTravelled');
    assert.deepEqual(
      [first!.fields.reason, first!.fields.fromRunId, first!.fields.fromEvent],
      ['once more', before.runId, 2],
    );
    const old = await client.history(flowId, { runId: before.runId });
    assert.deepEqual(old.slice(0, -1), history);
    assert.equal(old.at(-1)!.kind, 'RunReplaced');
    assert.equal((await client.describe(flowId, { runId: before.runId })).status, 'completed');
    const results = [client.result(TravelFlow, flowId), client.result(TravelFlow, flowId, { runId: before.runId })];
    await publish('more');
    await publish('end');
    assert.deepEqual(await Promise.all(results), ['2 of tea', '2 of tea']);
    assert.equal(new Set(effects.of(flowId)).size, 5);
    assert.ok(
      effects
        .of(flowId)
        .slice(2)
        .every((key) => !keys.includes(key)),
    );
  });

  it('[K4] to just before a method: an open run ends in the same write, and its attempt is aborted', async () => {
    const { client, flowId, publish, place } = await open();
    await publish('a');
    await waiting(client, flowId, 'Ship-2');
    await publish('hold');
    const { runId } = await client.describe(flowId);
    await eventually(() => gate.arrived(flowId) === 1);
    const result = client.result(TravelFlow, flowId);
    system.store.keepBatches = true;
    const { runId: next } = await client.timeTravel(flowId, { step: 'Ship-1', method: 'execute' }, { reapply: false });
    const batch = system.store.batches.find((each) => [...each.keys()].some((key) => key === `r/${next}`));
    system.store.keepBatches = false;
    system.store.batches.splice(0);
    assert.ok(batch!.has(`r/${runId}`));
    const old = await client.describe(flowId, { runId });
    assert.deepEqual([old.status, old.nextRunId, old.steps], ['terminated', next, []]);
    // The message it had consumed is received again.
    await waiting(client, flowId, 'Ship-2');
    assert.equal(await place(), 'Ship-1 a');
    gate.open(flowId);
    await publish('end');
    assert.equal(await result, '2 of tea');
    assert.equal((await eventsOf(client, flowId, 'StepScheduled')).at(-1)!.fields.execution, 'Ship-2');
    const { runId: third } = await client.timeTravel(flowId, { step: 'Ship-1', method: 'waitFor' }, { runId });
    assert.equal((await client.describe(flowId)).runId, third);
    // From the first run, with what clients had sent to it and then to the second.
    assert.equal(await client.result(TravelFlow, flowId, { runId }), '3 of tea');
  });

  it('[K4] to right after any event: the state is as it was then', async () => {
    const { client, flowId, publish, rpc } = await open();
    await rpc.move('by RPC');
    await publish('a');
    await waiting(client, flowId, 'Ship-2');
    await rpc.order('b');
    await waiting(client, flowId, 'Ship-3');
    await rpc.cancelExtras();
    const { runId } = await client.describe(flowId);
    const history = await client.history(flowId);
    const places: (string | undefined)[] = [];
    for (const { fields } of history) places.push(writtenTo('Place', fields) ?? places.at(-1));
    assert.ok(new Set(places).size >= 4);
    for (const [i, place] of places.entries()) {
      const { runId: next } = await client.timeTravel(flowId, { event: i + 1 }, { runId, reapply: false });
      const [first] = await client.history(flowId, { limit: 1, runId: next });
      assert.equal(first!.fields.fromEvent, i + 1);
      const attributes = await client.attributes(TravelFlow, flowId, { runId: next });
      const scheduled = history.slice(0, i + 1).filter(({ kind }) => kind === 'StepScheduled').length;
      const counts = (await client.describe(flowId, { runId: next })).scheduled;
      const sum = Object.values(counts).reduce((all, count) => all + count, 0);
      // What was ready then may have gone on already.
      if (sum === scheduled) assert.equal(attributes.get(Place), place, `after event ${i + 1}`);
      else assert.ok(sum > scheduled);
    }
    await refuses(client.timeTravel(flowId, { event: history.length + 100 }, { runId }), 'INVALID_ARGUMENT', /no \d+/);
  });

  it('[K4] applies later messages and RPCs again, each once, unless told not to', async () => {
    const { client, flowId, publish, rpc, place } = await open();
    const point = (await client.history(flowId)).length;
    await publish('a', 'the first');
    await waiting(client, flowId, 'Ship-2');
    await rpc.order('b');
    await waiting(client, flowId, 'Ship-3');
    await rpc.move('far');
    await rpc.cancelExtras();
    await rpc.order('c');
    await waiting(client, flowId, 'Ship-4');
    await client.timeTravel(flowId, { event: point });
    await waiting(client, flowId, 'Ship-4');
    assert.deepEqual(await stepStates(client, flowId), { 'Extra-2': 'waiting', 'Ship-4': 'waiting' });
    const taken = await eventsOf(client, flowId, 'WaitSatisfied');
    assert.equal(taken.length, 3);
    assert.equal(await place(), 'Ship-3 c');
    // Its id is known, and it is not stored again.
    await publish('a', 'the first');
    assert.deepEqual((await client.describe(flowId)).unread, []);
    await publish('d');
    await waiting(client, flowId, 'Ship-5');
    // Back once more: what was applied again counts as sent, and once.
    await client.timeTravel(flowId, 'beginning');
    await waiting(client, flowId, 'Ship-5');
    assert.deepEqual(await stepStates(client, flowId), { 'Extra-2': 'waiting', 'Ship-5': 'waiting' });
    await client.timeTravel(flowId, { step: 'Ship-1', method: 'waitFor' }, { reapply: false });
    await waiting(client, flowId, 'Ship-1');
    assert.deepEqual((await client.describe(flowId)).scheduled, { Begin: 1, Ship: 1 });
  });

  it('[K4] [P6] messages that are sent while it goes back are not lost, and not doubled', async () => {
    const { client, flowId, publish } = await open();
    let sent = 0;
    let over = false;
    const sender = async (name: number) => {
      while (!over) {
        await publish(`${name}/${++sent}`);
        await new Promise(setImmediate);
      }
    };
    const senders = [sender(1), sender(2), sender(3)];
    await eventually(() => sent > 10);
    for (let i = 0; i < 4; i++) {
      await client.timeTravel(flowId, i % 2 === 0 ? 'beginning' : { step: 'Ship-2', method: 'execute' });
      await eventually(async () => assert.ok((await client.describe(flowId)).scheduled.Ship! > 2));
    }
    over = true;
    await Promise.all(senders);
    await waiting(client, flowId, `Ship-${sent + 1}`);
    assert.equal((await client.attributes(TravelFlow, flowId)).get(Total), sent);
    assert.deepEqual((await client.describe(flowId)).unread, []);
  });

  it('[K4] [K3] finds a Step in earlier runs of a chain, and applies again what was sent to any run of it', async () => {
    const { client, flowId, publish } = await open();
    const first = await client.describe(flowId);
    await publish('a');
    await waiting(client, flowId, 'Ship-2');
    await publish('next');
    await waiting(client, flowId, 'Ship-3');
    await publish('b');
    await waiting(client, flowId, 'Ship-4');
    const second = await client.describe(flowId);
    assert.equal(second.previousRunId, first.runId);
    const result = client.result(TravelFlow, flowId, { runId: first.runId });
    const { runId } = await client.timeTravel(flowId, { step: 'Ship-2', method: 'waitFor' });
    const [begun] = await client.history(flowId, { runId, limit: 1 });
    assert.equal(begun!.fields.fromRunId, first.runId);
    await waiting(client, flowId, 'Ship-4');
    const again = await client.describe(flowId);
    assert.deepEqual([again.previousRunId, again.scheduled], [runId, { Begin: 2, Ship: 4 }]);
    // The beginning of a run that was continued is the state that came along.
    await client.timeTravel(flowId, 'beginning', { reapply: false });
    await waiting(client, flowId, 'Ship-4');
    await publish('end');
    assert.equal(await result, '4 of next of tea');
  });

  it('[K4] [I2] is applied once per requestId, also to another client, and tells other content from it', async () => {
    const { client, flowId, publish } = await open();
    await publish('a');
    await waiting(client, flowId, 'Ship-2');
    const requestId = fresh('request');
    const asked = await Promise.all([
      client.timeTravel(flowId, 'beginning', { requestId }),
      client.timeTravel(flowId, 'beginning', { requestId }),
    ]);
    assert.deepEqual(asked[0], asked[1]);
    assert.deepEqual(await client.timeTravel(flowId, 'beginning', { requestId }), asked[0]);
    assert.equal((await client.describe(flowId)).runId, asked[0]!.runId);
    await refuses(client.timeTravel(flowId, { event: 1 }, { requestId }), 'ID_CONFLICT');
  });

  it('[K4] refuses what cannot be, and changes nothing', async () => {
    const { client, flowId, publish } = await open();
    const before = await client.history(flowId);
    await refuses(client.timeTravel(fresh('nobody'), 'beginning'), 'FLOW_NOT_FOUND');
    await refuses(client.timeTravel(flowId, { step: 'Ship-9', method: 'execute' }), 'STEP_NOT_FOUND', /Ship-9.execute/);
    await refuses(client.timeTravel(flowId, { step: 'Ship-1', method: 'execute' }), 'STEP_NOT_FOUND');
    await refuses(client.timeTravel(flowId, { event: 0 }), 'INVALID_ARGUMENT');
    await refuses(client.timeTravel(flowId, { event: 1.5 }), 'INVALID_ARGUMENT');
    await refuses(client.timeTravel(flowId, 'start' as never), 'INVALID_ARGUMENT');
    await refuses(client.timeTravel(flowId, 'beginning', { runId: 'another' }), 'HISTORY_GONE');
    assert.deepEqual(await client.history(flowId), before);
    await publish('stop');
    await client.result(TravelFlow, flowId);
    const { length } = await client.history(flowId);
    await refuses(client.timeTravel(flowId, { event: length }), 'INVALID_ARGUMENT', /was completed/);
    assert.equal((await client.describe(flowId)).status, 'completed');
  });

  it('[K4] [F7] [W6] the Flow has the time left that it had then; timers keep their deadlines', async () => {
    const own = await stack.open({ flows });
    const { client, flowId } = await open(own);
    const { deadlineAt, startedAt, timers } = await client.describe(flowId);
    await own.advance(5 * 86_400_000);
    const point = await client.history(flowId);
    await client.timeTravel(flowId, { event: point.length });
    await waiting(client, flowId, 'Ship-1');
    const again = await client.describe(flowId);
    const left = deadlineAt! - point.at(-1)!.at.getTime();
    assert.equal(again.deadlineAt! - again.startedAt, left);
    assert.ok(again.startedAt - startedAt >= 5 * 86_400_000);
    assert.deepEqual(again.timers, timers);
  });

  it('[K4] [P6] a crash at any write: it happened or not, and a repeat with its id makes it so', async () => {
    const own = await stack.open({ flows });
    for (const when of ['beforeWrite', 'afterWrite'] as const) {
      for (let nth = 1; nth <= 3; nth++) {
        const { flowId, publish } = await open(own);
        await publish('a');
        await waiting(own.client, flowId, 'Ship-2');
        await publish('b');
        await waiting(own.client, flowId, 'Ship-3');
        const { runId: old } = await own.client.describe(flowId);
        const requestId = fresh('request');
        const travel = () => own.client.timeTravel(flowId, { step: 'Ship-1', method: 'execute' }, { requestId });
        let writes = 0;
        let crashed = false;
        own.store.faults = {
          [when]: () => {
            if (++writes < nth) return;
            crashed = true;
            throw new Error('the process is gone');
          },
        };
        const first = travel().then(
          ({ runId }) => runId,
          () => undefined,
        );
        const more = own.client.publish(TravelFlow, flowId, Orders, 'c', { messageId: `${flowId} c` }).catch(() => {});
        await eventually(() => crashed || own.store.writing === 0);
        await own.crash();
        own.store.faults = {};
        await own.client.publish(TravelFlow, flowId, Orders, 'c', { messageId: `${flowId} c` });
        const { runId } = await travel();
        const told = await first;
        await more;
        if (told !== undefined) assert.equal(told, runId);
        await waiting(own.client, flowId, 'Ship-4');
        const run = await own.client.describe(flowId);
        assert.deepEqual([run.runId, run.previousRunId], [runId, old]);
        assert.deepEqual([run.scheduled.Ship, run.unread], [4, []]);
        assert.equal((await own.client.attributes(TravelFlow, flowId)).get(Total), 3);
        const kinds = await own.client.history(flowId, { runId: old });
        assert.equal(kinds.at(-1)!.kind, 'FlowClosed');
      }
    }
  });

  it('[K4] costs a small Flow nothing: neither records nor writes', async () => {
    const own = await stack.open({ flows });
    const { client, flowId, publish } = await open(own);
    await publish('end');
    await client.result(TravelFlow, flowId);
    assert.equal(await own.store.count('c/'), 0);
    assert.ok((await eventKinds(client, flowId)).length > 5);
  });
});

/** What an event wrote to an Attribute. */
function writtenTo(attribute: string, fields: HistoryEvent['fields']): string | undefined {
  const staged = fields.staged as { attributes: [string, string][] } | undefined;
  const writes = staged?.attributes ?? (fields.attributes as [string, string][] | undefined) ?? [];
  return writes.find(([address]) => address === attribute)?.[1];
}
