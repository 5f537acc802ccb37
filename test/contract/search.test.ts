import assert from 'node:assert/strict';
import {
  Attribute,
  attribute,
  Channel,
  type Client,
  DurableAttribute,
  DurableChannel,
  either,
  Flow,
  type FlowQuery,
  forceFail,
  gracefulComplete,
  HoldfastError,
  initially,
  not,
  Query,
  Rpc,
  Step,
  startSubFlow,
  subFlow,
  until,
} from '../../index';
import { MemoryFlowIndex } from '../../lib/search/memory-flow-index';
import { eventually } from '../support/eventually';
import { describeOnEveryStack, type System } from '../support/stacks';

@Attribute({ index: 'keyword' })
class Customer extends DurableAttribute<string | null> {}

@Attribute({ index: 'text' })
class Note extends DurableAttribute<string> {}

@Attribute({ index: 'keywordArray' })
class Tags extends DurableAttribute<string[]> {}

@Attribute({ index: 'int' })
class Pieces extends DurableAttribute<number> {}

@Attribute({ index: 'double' })
class Weight extends DurableAttribute<number> {}

@Attribute({ index: 'bool' })
class Paid extends DurableAttribute<boolean> {}

@Attribute({ index: 'datetime' })
class Due extends DurableAttribute<Date> {}

class Money {
  constructor(readonly cents: number) {}
}

@Attribute({
  index: 'int',
  codec: { name: 'money', encode: (money: Money) => money.cents, decode: (cents) => new Money(cents as number) },
})
class Price extends DurableAttribute<Money> {}

@Attribute()
class Secret extends DurableAttribute<string> {}

@Channel()
class Go extends DurableChannel<string> {}

@Step({ name: 'Parcel' })
class ParcelStep {
  constructor(private readonly go: Go) {}

  waitFor() {
    return until(this.go.take(1));
  }

  execute() {
    const [how] = this.go.received();
    return how === 'fail' ? forceFail('as told') : gracefulComplete(how);
  }
}

@Flow({ name: 'parcel', aliases: ['packet'] })
class ParcelFlow {
  static readonly start = ParcelStep;

  constructor(
    private readonly customer: Customer,
    private readonly note: Note,
    private readonly tags: Tags,
    private readonly pieces: Pieces,
    private readonly weight: Weight,
    private readonly paid: Paid,
    private readonly due: Due,
    private readonly price: Price,
    private readonly secret: Secret,
  ) {}

  @Rpc()
  fill(customer: string, note: string, pieces: number, price: number) {
    this.customer.set(customer);
    this.note.set(note);
    this.tags.set([customer, 'parcel']);
    this.pieces.set(pieces);
    this.weight.set(pieces / 4);
    this.paid.set(pieces > 2);
    this.due.set(new Date(pieces * 1_000));
    this.price.set(new Money(price));
    this.secret.set(customer);
  }

  @Rpc()
  move(customer: string | null) {
    if (customer === null) this.customer.delete();
    else this.customer.set(customer);
  }

  @Rpc()
  misfit(what: 'pieces' | 'weight' | 'customer' | 'due') {
    if (what === 'pieces') this.pieces.set(1.5);
    if (what === 'weight') this.weight.set(Number.NaN);
    if (what === 'customer') this.customer.set('x'.repeat(600));
    if (what === 'due') this.due.set(new Date(Number.NaN));
  }

  @Rpc()
  nobody() {
    this.customer.set(null);
  }

  @Query()
  whose() {
    return this.customer.get();
  }
}

@Step({ name: 'Parent' })
class ParentStep {
  waitFor(input: string) {
    return until(subFlow(ChildFlow, input, { flowId: `${input}-waited`, parentClose: 'abandon' }));
  }

  execute(input: string) {
    startSubFlow(ChildFlow, input, { flowId: `${input}-free`, parentClose: 'abandon' });
    return gracefulComplete();
  }
}

@Step({ name: 'Child' })
class ChildStep {
  execute(_of: string) {
    return gracefulComplete();
  }
}

@Flow({ name: 'child' })
class ChildFlow {
  static readonly start = ChildStep;
}

@Flow({ name: 'parent' })
class ParentFlow {
  static readonly start = ParentStep;
}

const flows = [ParcelFlow, ParentFlow, ChildFlow];

async function found(client: Client, query: FlowQuery): Promise<string> {
  const flowIds: string[] = [];
  for await (const { flowId } of client.listAll({ orderBy: 'flowId', ...query }, { fresh: true })) flowIds.push(flowId);
  return flowIds.join(' ');
}

async function refused(act: Promise<unknown>, code: string, message = /./): Promise<void> {
  await assert.rejects(
    act,
    (error) => error instanceof HoldfastError && error.code === code && message.test(error.message),
  );
}

describeOnEveryStack('Search', (stack) => {
  describe('by what runs hold', () => {
    const system = stack.shared({ flows, index: new MemoryFlowIndex() });
    before(async () => {
      const { client } = system;
      for (const [i, flowId] of ['a', 'b', 'c'].entries()) {
        await client.start(ParcelFlow, flowId);
        await client.rpc(ParcelFlow, flowId).fill(`c-${i}`, `Handle ${flowId} with CARE`, i + 1, 100 * i);
      }
      await client.start(ParcelFlow, 'd');
    });

    it('[A4] finds by each kind of index, as soon as the write is saved', async () => {
      const { client } = system;
      const where = (...filters: NonNullable<FlowQuery['where']>) =>
        found(client, { flow: ParcelFlow, where: filters });
      assert.equal(await where(attribute(Customer).equals('c-1')), 'b');
      assert.equal(await where(attribute(Customer).in(['c-1', 'c-2', 'x'])), 'b c');
      assert.equal(await where(attribute(Customer).startsWith('c-')), 'a b c');
      assert.equal(await where(attribute(Customer).exists()), 'a b c');
      assert.equal(await where(not(attribute(Customer).exists())), 'd');
      assert.equal(await where(attribute(Note).contains('care, handle!')), 'a b c');
      assert.equal(await where(attribute(Note).contains('b care')), 'b');
      assert.equal(await where(attribute(Tags).has('c-0')), 'a');
      assert.equal(await where(attribute(Tags).hasAny(['c-0', 'c-2'])), 'a c');
      assert.equal(await where(attribute(Pieces).equals(2)), 'b');
      assert.equal(await where(attribute(Pieces).between(2, 3)), 'b');
      assert.equal(await where(attribute(Weight).atMost(0.5)), 'a b');
      assert.equal(await where(attribute(Weight).above(0.5)), 'c');
      assert.equal(await where(attribute(Paid).equals(true)), 'c');
      assert.equal(await where(attribute(Due).atLeast(new Date(2_000))), 'b c');
      assert.equal(await where(attribute(Due).below(new Date(2_000))), 'a');
      assert.equal(await where(attribute(Price).equals(new Money(200))), 'c');
      assert.equal(await where(either(attribute(Paid).equals(true), attribute(Customer).equals('c-0'))), 'a c');
      assert.equal(await where(attribute(Pieces).above(1), attribute(Pieces).below(3)), 'b');
    });

    it('[K1] lists by name, status, times and ids, with what is indexed', async () => {
      const { client } = system;
      assert.equal(await found(client, { flow: 'parcel', status: 'running' }), 'a b c d');
      assert.equal(await found(client, { flow: [ParcelFlow, 'unknown'], status: ['running', 'failed'] }), 'a b c d');
      assert.equal(await found(client, { flow: ChildFlow }), '');
      assert.equal(await found(client, { flowId: ['a', 'd', 'x'] }), 'a d');
      assert.equal(await found(client, { flowId: { startsWith: 'b' } }), 'b');
      assert.equal(await found(client, { blocked: true }), '');
      const { flows: entries } = await client.list({ flowId: 'b' }, { fresh: true });
      const { startedAt, runId } = entries[0]!;
      assert.deepEqual(entries, [
        {
          ...{ flowId: 'b', runId, chainId: runId, flow: 'parcel', status: 'running', failKind: null, startedAt },
          ...{ closedAt: null, parents: [], blocked: [] },
          attributes: {
            ...{ Customer: 'c-1', Tags: ['c-1', 'parcel'], Pieces: 2, Weight: 0.5, Paid: false, Due: new Date(2_000) },
            Price: 100,
          },
        },
      ]);
      assert.equal((await client.describe('b')).startedAt, startedAt);
      assert.equal(await found(client, { flowId: 'b', startedAt: { from: startedAt, to: startedAt + 1 } }), 'b');
      assert.equal(await found(client, { flowId: 'b', startedAt: { to: new Date(startedAt) } }), '');
    });

    it('[A4] refuses values that do not fit the index, where they are set', async () => {
      const { client } = system;
      const parcel = client.rpc(ParcelFlow, 'a');
      for (const what of ['pieces', 'weight', 'customer', 'due'] as const) {
        await assert.rejects(parcel.misfit(what), (error: HoldfastError) =>
          /does not fit its index/.test(String((error.cause as Error).message)),
        );
      }
      await refused(
        client.start(ParcelFlow, 'never', undefined, { attributes: [initially(Pieces, 0.5)] }),
        'VALUE_NOT_STORABLE',
        /index 'int'/,
      );
      await parcel.nobody();
      assert.equal(await parcel.whose(), null);
      assert.equal(await found(client, { flow: ParcelFlow, where: [attribute(Customer).exists()] }), 'b c');
      await parcel.move('c-0');
    });

    it('[K2] refuses queries that make no sense', async () => {
      const { client } = system;
      const { next } = await client.list({ limit: 1 });
      const wrong: FlowQuery[] = [
        { limit: 0 },
        { limit: 1.5 },
        { limit: 5_000 },
        { cursor: 'x' },
        { cursor: next, status: 'failed' },
        { status: 'open' as never },
        { orderBy: 'Customer' as never },
        { direction: 'up' as never },
        { flow: 'a\0b' },
        { flow: class Other {} as never },
        { where: [attribute(Secret).equals('x')] },
        { where: [attribute(Customer).contains('x')] },
        { where: [attribute(Note).equals('x')] },
        { where: [attribute(Note).contains('?!')] },
        { where: [attribute(Pieces).equals('1' as never)] },
        { where: [attribute(Pieces).above(Number.NaN)] },
        { where: [attribute(Paid).equals(null as never)] },
        { flow: ChildFlow, where: [attribute(Customer).equals('x')] },
        { where: [{} as never] },
      ];
      for (const query of wrong) await refused(client.list(query), 'INVALID_ARGUMENT');
      await refused(client.list({ startedAt: { from: Number.NaN } }), 'INVALID_DURATION');
      await refused(client.list({}, { deadline: 'soon' }), 'INVALID_DURATION');
      await refused(client.list({}, { signal: AbortSignal.abort(new Error('no more')) }), 'ABORTED', /no more/);
    });

    it('[K1] [C87] pages over many runs with the same times, each of them once', async () => {
      const { client } = system;
      const all = Array.from({ length: 60 }, (_, i) => `page-${String(i).padStart(2, '0')}`);
      await Promise.all(all.map((flowId) => client.start(ParcelFlow, flowId)));
      for (const direction of ['asc', 'desc'] as const) {
        const seen: string[] = [];
        let cursor: string | null = null;
        for (let page = 0; page === 0 || cursor !== null; page++) {
          const query: FlowQuery = { flowId: { startsWith: 'page-' }, limit: 7, direction, cursor };
          const { flows: entries, next } = await client.list(query, { fresh: true });
          seen.push(...entries.map(({ flowId }) => flowId));
          cursor = next;
          await client.rpc(ParcelFlow, all[(page * 11) % 60]!).move(`m-${page}`);
          await client.start(ParcelFlow, `page-${direction}-${page}`);
        }
        const old = seen.filter((flowId) => all.includes(flowId));
        assert.deepEqual(old.sort(), all);
      }
    });
  });

  describe('while runs change', () => {
    let system: System;
    beforeEach(async () => {
      system = await stack.open({ flows, index: new MemoryFlowIndex() });
    });

    it('[A4] follows what is set, deleted and closed', async () => {
      const { client } = system;
      await client.start(ParcelFlow, 'p', undefined, { attributes: [initially(Customer, 'first')] });
      const of = (customer: string) => found(client, { where: [attribute(Customer).equals(customer)] });
      assert.equal(await of('first'), 'p');
      await client.rpc(ParcelFlow, 'p').move('second');
      assert.equal(await of('first'), '');
      assert.equal(await of('second'), 'p');
      await client.rpc(ParcelFlow, 'p').move(null);
      assert.equal(await of('second'), '');
      await client.publish(ParcelFlow, 'p', Go, 'fail');
      await client.result(ParcelFlow, 'p', { throwOnFailure: false });
      const { flows: entries } = await client.list({ status: 'failed', closedAt: { from: 0 } }, { fresh: true });
      assert.deepEqual(
        entries.map(({ flowId, failKind, closedAt }) => [flowId, failKind, closedAt! > 0]),
        [['p', 'decision', true]],
      );
      assert.equal(await found(client, { status: 'running' }), '');
      assert.equal(await found(client, { orderBy: 'closedAt' }), 'p');
    });

    it('[U5] finds the children of a parent', async () => {
      const { client } = system;
      await client.start(ParentFlow, 'one', 'one');
      await client.start(ParentFlow, 'two', 'two');
      for (const flowId of ['one', 'two']) await client.result(ParentFlow, flowId);
      for (const flowId of ['one-free', 'two-free']) {
        await eventually(() => client.result(ChildFlow, flowId));
      }
      assert.equal(await found(client, { parent: 'one' }), 'one-free one-waited');
      assert.equal(await found(client, { parent: 'two', flow: ChildFlow }), 'two-free two-waited');
      const { flows: entries } = await client.list({ parent: 'one' });
      assert.deepEqual(
        entries.map(({ parents }) => parents),
        [['one'], ['one']],
      );
    });

    it('[N5] lets go of runs that are kept no longer', async () => {
      const { client } = system;
      await client.start(ParcelFlow, 'short', undefined, { retention: '1m' });
      await client.start(ParcelFlow, 'long', undefined, { retention: '10d' });
      for (const flowId of ['short', 'long']) await client.stop(flowId, 'cancel', 'enough');
      assert.equal(await found(client, {}), 'long short');
      await system.advance(3 * 60_000);
      await eventually(async () => assert.equal(await found(client, {}), 'long'));
    });
  });
});
