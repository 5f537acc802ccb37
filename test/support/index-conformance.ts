import assert from 'node:assert/strict';
import { HoldfastError } from '../../lib/errors';
import type { IndexKind } from '../../lib/plan';
import type { Feeder, FlowIndex, IndexChanges, IndexedRun, IndexFilter, IndexQuery } from '../../lib/ports';
import { indexTerms } from '../../lib/values';

/** Opens an index on the same place again and again; each `place` is empty at first. */
export type OpenIndex = (place: string) => Promise<FlowIndex>;

let places = 0;

/** What every adapter of `FlowIndex` promises. `shared`: two that are open at once see the same. */
export function describeFlowIndex(name: string, open: OpenIndex, { shared = true } = {}): void {
  describe(`FlowIndex: ${name}`, () => {
    const opened: FlowIndex[] = [];
    let place: string;
    let index: FlowIndex;
    let feed: Feed;

    const openHere = async () => {
      const another = await open(place);
      opened.push(another);
      return another;
    };

    beforeEach(async () => {
      place = `place${++places}`;
      index = await openHere();
      feed = new Feed(index, { shard: 0, epoch: 1, feed: 'first' });
    });
    afterEach(async () => {
      for (const each of opened.splice(0)) await each.close();
    });

    it('[A4] gives back what was put', async () => {
      await feed.takeOver();
      const run = runOf('a', {
        ...{ status: 'failed', failKind: 'worker', closedAt: 9_000, events: 12, startedAt: 8_640_000_000_000_000 },
        parents: ['p:1', '√∂'],
        attributes: [attribute('Name', 'keyword', '☃ "x"'), attribute('Tags', 'keywordArray', ['b', 'a'])],
      });
      await feed.put(run);
      const [found] = await index.list(query([]));
      assert.deepEqual(found, {
        ...run,
        attributes: run.attributes.map((each) => ({
          ...each,
          terms: found!.attributes[0]!.terms.length ? each.terms : [],
        })),
      });
    });

    it('[A4] finds by each kind of index', async () => {
      await feed.takeOver();
      await feed.put(
        runOf('a', {
          attributes: [
            attribute('Customer', 'keyword', 'c-1'),
            attribute('Note', 'text', 'Ünïcode: The quick, brown fox'),
            attribute('Tags', 'keywordArray', ['red', 'blue']),
            attribute('Count', 'int', -3),
            attribute('Price', 'double', 1.25),
            attribute('Paid', 'bool', true),
            attribute('Due', 'datetime', new Date(5_000)),
          ],
        }),
        runOf('b', {
          attributes: [
            attribute('Customer', 'keyword', 'c-10'),
            attribute('Note', 'text', 'slow FOX'),
            attribute('Tags', 'keywordArray', []),
            attribute('Count', 'int', Number.MAX_SAFE_INTEGER),
            attribute('Price', 'double', 1e300),
            attribute('Paid', 'bool', false),
          ],
        }),
        runOf('c', {}),
      );
      const found = async (...filters: IndexFilter[]) =>
        (await index.list(query(filters, { orderBy: 'flowId' }))).map(({ flowId }) => flowId).join('');
      const is = (of: string, ...terms: (string | number)[]): IndexFilter => ({
        ...{ kind: 'attribute', names: [of] },
        test: { kind: 'is', terms },
      });
      const range = (of: string, bounds: object): IndexFilter => ({
        ...{ kind: 'attribute', names: [of] },
        test: { kind: 'range', range: bounds },
      });
      const has = (of: string): IndexFilter => ({ kind: 'attribute', names: [of], test: null });
      const begins = (of: string, prefix: string): IndexFilter => ({
        ...{ kind: 'attribute', names: [of] },
        test: { kind: 'startsWith', prefix },
      });
      assert.equal(await found(is('Customer', 'c-1')), 'a');
      assert.equal(await found(is('Customer', 'c-1', 'c-10', 'c-2')), 'ab');
      assert.equal(await found(is('Customer', 'C-1')), '');
      assert.equal(await found(is('Customer')), '');
      assert.equal(await found(begins('Customer', 'c-1')), 'ab');
      assert.equal(await found(begins('Customer', 'c-10')), 'b');
      assert.equal(await found(begins('Customer', 'c%')), '');
      assert.equal(await found(begins('Customer', '')), 'ab');
      assert.equal(await found(is('Note', 'fox')), 'ab');
      assert.equal(await found(is('Note', 'ünïcode'), is('Note', 'brown')), 'a');
      assert.equal(await found(is('Tags', 'blue')), 'a');
      assert.equal(await found(has('Tags')), 'a');
      assert.equal(await found(is('Count', -3)), 'a');
      assert.equal(await found(is('Count', Number.MAX_SAFE_INTEGER)), 'b');
      assert.equal(await found(range('Count', { above: -3 })), 'b');
      assert.equal(await found(range('Count', { atLeast: -3, below: 0 })), 'a');
      assert.equal(await found(range('Price', { atMost: 1.25 })), 'a');
      assert.equal(await found(range('Price', { above: 1.25, atMost: 1e300 })), 'b');
      assert.equal(await found(is('Paid', 1)), 'a');
      assert.equal(await found(is('Paid', 0)), 'b');
      assert.equal(await found(range('Due', { atLeast: 5_000 })), 'a');
      assert.equal(await found({ kind: 'not', of: is('Paid', 1) }), 'bc');
      assert.equal(await found({ kind: 'any', of: [is('Paid', 1), { kind: 'not', of: has('Paid') }] }), 'ac');
      assert.equal(await found({ kind: 'any', of: [] }), '');
      assert.equal(await found({ kind: 'all', of: [] }), 'abc');
      // What stands for something in SQL is a value like any other.
      assert.equal(await found(is('Customer', "c-1' OR '1'='1")), '');
      assert.equal(await found(is("Customer' OR 'a'='a", 'c-1')), '');
    });

    it('[K1] finds by name, status, times, ids, parent and what is blocked', async () => {
      await feed.takeOver();
      await feed.put(
        runOf('a', { flow: 'order', startedAt: 10, parents: ['p-1'] }),
        runOf('b', { flow: 'order', startedAt: 20, status: 'completed', closedAt: 25, parents: ['p-1', 'p-2'] }),
        runOf('c', { flow: 'cart', startedAt: 30, blocked: ['Ship', 'Pack'], chainId: 'chain' }),
      );
      const found = async (...filters: IndexFilter[]) =>
        (await index.list(query(filters, { orderBy: 'flowId' }))).map(({ flowId }) => flowId).join('');
      assert.equal(await found({ kind: 'is', field: 'flow', values: ['order'] }), 'ab');
      assert.equal(await found({ kind: 'is', field: 'flow', values: ['order', 'cart'] }), 'abc');
      assert.equal(await found({ kind: 'is', field: 'flow', values: [] }), '');
      assert.equal(await found({ kind: 'is', field: 'status', values: ['running'] }), 'ac');
      assert.equal(await found({ kind: 'is', field: 'flowId', values: ['b', 'c'] }), 'bc');
      assert.equal(await found({ kind: 'is', field: 'runId', values: ['run-b'] }), 'b');
      assert.equal(await found({ kind: 'is', field: 'chainId', values: ['chain'] }), 'c');
      assert.equal(await found({ kind: 'is', field: 'parent', values: ['p-1'] }), 'ab');
      assert.equal(await found({ kind: 'is', field: 'parent', values: ['p-2', 'p-3'] }), 'b');
      assert.equal(await found({ kind: 'startsWith', field: 'flowId', prefix: 'b' }), 'b');
      assert.equal(await found({ kind: 'range', field: 'startedAt', range: { atLeast: 20, below: 30 } }), 'b');
      assert.equal(await found({ kind: 'range', field: 'closedAt', range: { atLeast: 0 } }), 'b');
      assert.equal(await found({ kind: 'blocked', is: true }), 'c');
      assert.equal(await found({ kind: 'blocked', is: false }), 'ab');
      const [blocked] = await index.list(query([{ kind: 'blocked', is: true }]));
      assert.deepEqual(blocked!.blocked, ['Ship', 'Pack']);
    });

    it('[C87] pages in a total order, also where times are the same, while rows come and go', async () => {
      await feed.takeOver();
      const flowIds = Array.from({ length: 60 }, (_, i) => `f${i}`);
      await feed.put(...flowIds.map((id, i) => runOf(id, { startedAt: i < 40 ? 1_000 : 1_000 + i })));
      for (const orderBy of ['startedAt', 'flowId', 'closedAt'] as const) {
        for (const descending of [false, true]) {
          const seen: string[] = [];
          let after: IndexQuery['after'] = null;
          for (let page = 0; ; page++) {
            const runs: readonly IndexedRun[] = await index.list(query([], { orderBy, descending, after, limit: 7 }));
            if (runs.length === 0) break;
            seen.push(...runs.map(({ flowId }) => flowId));
            const last = runs[runs.length - 1]!;
            after = { key: last[orderBy]!, runId: last.runId };
            if (page >= 12) continue;
            // Those that were not there throughout may be missed or met, and all others come once.
            await feed.put(runOf(`new-${orderBy}-${page}`, { startedAt: 500 + page * 100 }));
            await feed.remove(`run-new-${orderBy}-${page - 1}`);
            if (orderBy !== 'closedAt')
              await feed.put(
                runOf('f5', { startedAt: 1_000, status: 'failed', closedAt: 3_000 + page, events: 2 + page }),
              );
          }
          const old = seen.filter((flowId) => flowId.startsWith('f'));
          if (orderBy === 'closedAt') assert.deepEqual(old, ['f5']);
          else assert.deepEqual([...old].sort(), [...flowIds].sort(), `${orderBy} ${descending}`);
        }
      }
    });

    it('orders texts by their bytes', async () => {
      await feed.takeOver();
      const flowIds = ['a', 'B', 'ä', '1', '10', '2', '😀', '￿', 'a-', 'a b'];
      await feed.put(...flowIds.map((flowId) => runOf(flowId, {})));
      const sorted = [...flowIds].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const up = await index.list(query([], { orderBy: 'flowId' }));
      assert.deepEqual(
        up.map(({ flowId }) => flowId),
        sorted,
      );
      const down = await index.list(query([], { orderBy: 'flowId', descending: true }));
      assert.deepEqual(
        down.map(({ flowId }) => flowId),
        sorted.reverse(),
      );
    });

    it('[A4] an older state of a run does not replace a newer one, and replaced values are not found', async () => {
      await feed.takeOver();
      await feed.put(runOf('a', { events: 5, attributes: [attribute('Tags', 'keywordArray', ['new'])] }));
      await feed.put(
        runOf('a', { events: 4, status: 'failed', attributes: [attribute('Tags', 'keywordArray', ['old'])] }),
      );
      const tagged = (tag: string) =>
        index.list(query([{ kind: 'attribute', names: ['Tags'], test: { kind: 'is', terms: [tag] } }]));
      assert.equal((await tagged('new'))[0]!.status, 'running');
      assert.equal((await tagged('old')).length, 0);
      await feed.put(runOf('a', { events: 6, attributes: [] }));
      assert.equal((await tagged('new')).length, 0);
    });

    it('[P5] refuses an owner that has a successor, from its first word on', async () => {
      const before = feed;
      assert.equal(await before.takeOver(), false);
      await before.put(runOf('a', {}));
      const after = new Feed(index, { shard: 0, epoch: 2, feed: 'first' });
      assert.equal(await after.takeOver(), true);
      await refused(before.put(runOf('b', {})), 'FENCED');
      await refused(before.remove('run-a'), 'FENCED');
      await refused(before.takeOver(), 'FENCED');
      await after.put(runOf('c', {}));
      const runs = await index.list(query([], { orderBy: 'flowId' }));
      assert.deepEqual(
        runs.map(({ flowId }) => flowId),
        ['a', 'c'],
      );
    });

    it('refuses a batch that comes after a later one', async () => {
      await feed.takeOver();
      await feed.put(runOf('a', { events: 1 }));
      await feed.remove('run-a');
      await refused(index.write(feed.feeder, 1, changes({ put: [runOf('a', { events: 1 })] })), 'FENCED');
      assert.deepEqual(await index.list(query([])), []);
    });

    it('a new feed writes the shard anew, and what it did not name goes', async () => {
      await feed.takeOver();
      await feed.put(runOf('gone', {}), runOf('kept', {}), runOf('unreadable', {}), runOf('newer', { events: 9 }));
      const other = new Feed(index, { shard: 1, epoch: 1, feed: 'elsewhere' });
      await other.takeOver();
      await other.put(runOf('other', {}));
      const again = new Feed(index, { shard: 0, epoch: 1, feed: 'second' });
      assert.equal(await again.takeOver(), false);
      await refused(feed.put(runOf('late', {})), 'FENCED');
      await again.write({ put: [runOf('kept', {}), runOf('newer', { events: 3 })], keep: ['run-unreadable', 'run-x'] });
      await again.write({ sweep: true });
      const runs = await index.list(query([], { orderBy: 'flowId' }));
      assert.deepEqual(
        runs.map(({ flowId, events }) => [flowId, events]),
        [
          ['kept', 1],
          ['newer', 9],
          ['other', 1],
          ['unreadable', 1],
        ],
      );
    });

    it('[V3] says what open runs lack, until another owner takes over', async () => {
      await feed.takeOver();
      await feed.put(runOf('a', {}), runOf('b', { status: 'completed', closedAt: 5 }));
      await feed.write({
        blocked: [
          ['a', ['Ship']],
          ['b', ['Ship']],
          ['none', ['Ship']],
        ],
      });
      const blocked = async () =>
        (await index.list(query([{ kind: 'blocked', is: true }]))).map(({ flowId }) => flowId);
      assert.deepEqual(await blocked(), ['a']);
      await feed.write({ blocked: [['a', []]] });
      assert.deepEqual(await blocked(), []);
      await feed.write({ blocked: [['a', ['Pack']]] });
      await new Feed(index, { shard: 0, epoch: 2, feed: 'first' }).takeOver();
      assert.deepEqual(await blocked(), []);
    });

    it('[C72] removes and puts the same run again, in many batches and many rows', async () => {
      await feed.takeOver();
      const runs = Array.from({ length: 450 }, (_, i) =>
        runOf(`f${i}`, { attributes: [attribute('Note', 'text', 'one two three four')] }),
      );
      await feed.put(...runs);
      await feed.write({ put: runs.slice(0, 10), remove: runs.slice(10).map(({ runId }) => runId) });
      assert.equal((await index.list(query([], { limit: 1_000 }))).length, 10);
      await feed.put(...runs);
      const four: IndexFilter = { kind: 'attribute', names: ['Note'], test: { kind: 'is', terms: ['four'] } };
      assert.equal((await index.list(query([four], { limit: 1_000 }))).length, 450);
    });

    if (!shared) return;

    it('[C72] makes its tables once, however many come at once, and each feeds its shard', async () => {
      const indexes = await Promise.all(Array.from({ length: 6 }, openHere));
      await Promise.all(
        indexes.map(async (each, shard) => {
          const own = new Feed(each, { shard, epoch: 1, feed: 'f' });
          await own.takeOver();
          for (let i = 0; i < 10; i++) await own.put(runOf(`s${shard}-${i}`, {}));
        }),
      );
      for (const each of indexes) assert.equal((await each.list(query([], { limit: 1_000 }))).length, 60);
    });

    it('[C72] one of many writers of a shard at once wins, and none mixes with it', async () => {
      const indexes = await Promise.all(Array.from({ length: 4 }, openHere));
      const feeds = indexes.map((each, i) => new Feed(each, { shard: 0, epoch: i + 1, feed: 'f' }));
      await Promise.allSettled(feeds.map((each) => each.takeOver()));
      await feeds[3]!.takeOver();
      const outcomes = await Promise.allSettled(feeds.map((each, i) => each.put(runOf('a', { status: `by ${i}` }))));
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['rejected', 'rejected', 'rejected', 'fulfilled'],
      );
      assert.equal((await index.list(query([])))[0]!.status, 'by 3');
    });

    it('is still there when it is opened again', async () => {
      await feed.takeOver();
      await feed.put(runOf('a', {}));
      await index.close();
      await index.close();
      const again = await openHere();
      assert.equal((await again.list(query([]))).length, 1);
      assert.equal(await new Feed(again, { shard: 0, epoch: 2, feed: 'first' }).takeOver(), true);
      await refused(index.list(query([])), 'CLOSED');
    });
  });
}

/** A feeder that counts its batches. */
class Feed {
  private batch = 0;

  constructor(
    private readonly index: FlowIndex,
    readonly feeder: Feeder,
  ) {}

  takeOver(): Promise<boolean> {
    return this.index.takeOver(this.feeder);
  }

  put(...put: IndexedRun[]): Promise<void> {
    return this.write({ put });
  }

  remove(...remove: string[]): Promise<void> {
    return this.write({ remove });
  }

  write(some: Partial<IndexChanges>): Promise<void> {
    return this.index.write(this.feeder, ++this.batch, changes(some));
  }
}

function changes(some: Partial<IndexChanges>): IndexChanges {
  return { put: [], remove: [], blocked: [], keep: [], sweep: false, ...some };
}

function query(filters: IndexFilter[], some: Partial<IndexQuery> = {}): IndexQuery {
  return { filters, orderBy: 'startedAt', descending: false, after: null, limit: 100, ...some };
}

function runOf(flowId: string, some: Partial<IndexedRun>): IndexedRun {
  return {
    ...{ flowId, runId: `run-${flowId}`, chainId: `run-${flowId}`, flow: 'order', status: 'running', failKind: null },
    ...{ startedAt: 1_000, closedAt: null, parents: [], blocked: [], events: 1, attributes: [] },
    ...some,
  };
}

function attribute(name: string, kind: IndexKind, value: unknown) {
  const { shown, terms } = indexTerms(kind, value)!;
  return { name, kind, shown, terms };
}

async function refused(act: Promise<unknown>, code: string): Promise<void> {
  await assert.rejects(act, (error) => error instanceof HoldfastError && error.code === code);
}
