import assert from 'node:assert/strict';
import {
  Attribute,
  attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  type FlowQuery,
  gracefulComplete,
  Holdfast,
  initially,
  type Logger,
  openIndex,
  Step,
  until,
} from '../../index';
import { systemClock } from '../../lib/embedded/system-clock';
import type { Clock } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder';

@Attribute({ index: 'keyword' })
class Color extends DurableAttribute<string> {}

@Channel()
class Done extends DurableChannel<boolean> {}

@Step({ name: 'Stay' })
class StayStep {
  constructor(
    private readonly done: Done,
    readonly color: Color,
  ) {}

  waitFor() {
    return until(this.done.take(1));
  }

  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'stay' })
class StayFlow {
  static readonly start = StayStep;
}

@Step({ name: 'Quick' })
class QuickStep {
  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'quick' })
class QuickFlow {
  static readonly start = QuickStep;
}

/** 5,000 in the field. */
const flowCount = Number(process.env.FLOWS ?? 1_000);
const sameTime = flowCount / 10;
const pageSize = 50;
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const flows = [StayFlow, QuickFlow];

describe('Listing while things move', function () {
  this.timeout(120_000);
  let folder: TemporaryFolder;
  const store = new MemoryStateStore();
  const kept = { location: 'kept:', open: (shard: number) => store.open(shard), close: async () => {} };
  let frozenAt: number | undefined;
  let frozenSince = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => frozenAt ?? Date.now(),
    monotonic: () => (frozenAt === undefined ? performance.now() : frozenSince),
  };
  let holdfast: Holdfast;
  const flowIds = Array.from({ length: flowCount }, (_, i) => `s${i}`);
  const color = (i: number) => (i % 3 === 0 ? 'red' : 'blue');

  const open = () =>
    Holdfast.open({ flows, store: kept, index: `sqlite:${folder.path}/index.db`, clock, logger: silent });

  before(async () => {
    folder = await temporaryFolder();
    holdfast = await open();
    const start = (flowId: string, i: number) =>
      holdfast.client.start(StayFlow, flowId, undefined, { attributes: [initially(Color, color(i))] });
    frozenSince = performance.now();
    frozenAt = Date.now();
    await Promise.all(flowIds.slice(0, sameTime).map(start));
    frozenAt = undefined;
    await Promise.all(flowIds.slice(sameTime).map((flowId, i) => start(flowId, i + sameTime)));
  });
  after(async () => {
    await holdfast?.close();
    await folder?.remove();
  });

  /** All pages, with something going on between them. */
  async function pages(query: FlowQuery, between: (page: number) => Promise<unknown>): Promise<string[]> {
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page === 0 || cursor !== null; page++) {
      const { flows: entries, next } = await holdfast.client.list(
        { ...query, cursor, limit: pageSize },
        { fresh: page === 0 },
      );
      seen.push(...entries.map(({ flowId }) => flowId));
      cursor = next;
      await between(page);
    }
    return seen;
  }

  it('[C87] gives each Flow that was there throughout exactly once, times being the same and others coming and going', async () => {
    const { client } = holdfast;
    let extra = 0;
    const busy = async () => {
      await Promise.all([1, 2, 3].map(() => client.start(QuickFlow, `quick${++extra}`)));
    };
    const queries: [FlowQuery, (i: number) => boolean][] = [
      [{}, () => true],
      [{ status: 'running', flow: StayFlow, direction: 'asc' }, () => true],
      [{ where: [attribute(Color).equals('red')] }, (i) => i % 3 === 0],
      [{ flow: 'stay', orderBy: 'flowId' }, () => true],
    ];
    for (const [query, fits] of queries) {
      const seen = (await pages(query, busy)).filter((flowId) => flowId.startsWith('s'));
      const expected = flowIds.filter((_, i) => fits(i));
      assert.equal(seen.length, expected.length, JSON.stringify(query));
      assert.deepEqual(new Set(seen), new Set(expected));
    }
    const { flows: entries } = await client.list({ flow: StayFlow, direction: 'asc', limit: 1_000 });
    assert.equal(new Set(entries.slice(0, sameTime).map(({ startedAt }) => startedAt)).size, 1);
  });

  it('[C87] a record that cannot be read is listed and said to be so, and breaks no page', async () => {
    const [entry] = (await holdfast.client.list({ flowId: 's7' })).flows;
    await holdfast.close();
    const shard = await store.open(0);
    await shard.write(new Map([[`r/${entry!.runId}`, Buffer.from('nonsense')]]));
    await shard.close();
    holdfast = await open();
    const { client } = holdfast;
    await assert.rejects(client.describe('s7'), { code: 'CORRUPT_RECORD' });
    await client.rebuildIndex();
    const seen = await pages({ flow: StayFlow }, async () => {});
    assert.equal(seen.length, flowCount);
    assert.equal(new Set(seen).size, flowCount);
    await eventually(async () => {
      const { flows: blocked } = await client.list({ blocked: true });
      assert.deepEqual(
        blocked.map(({ flowId }) => flowId),
        ['s7'],
      );
      assert.match(blocked[0]!.blocked[0]!, /is blocked/);
    });
  });

  it('[C87] a cursor goes on where it was after the index was emptied and written anew', async () => {
    const { client } = holdfast;
    const first = await client.list({ flow: StayFlow, limit: pageSize }, { fresh: true });
    await holdfast.close();
    await folder.remove();
    holdfast = await open();
    const rest: string[] = [];
    const query = { flow: StayFlow, limit: pageSize, cursor: first.next };
    for await (const { flowId } of holdfast.client.listAll(query, { fresh: true })) rest.push(flowId);
    const all = new Set([...first.flows.map(({ flowId }) => flowId), ...rest]);
    // That of the unreadable record is lost with the index: nothing says whose it was.
    assert.equal(all.size, flowCount - (all.has('s7') ? 0 : 1));
    assert.equal(rest.length + first.flows.length, all.size);
  });

  it('[C72] two processes that open the same index at once make it once', async () => {
    const address = `sqlite:${folder.path}/other/index.db`;
    const indexes = await Promise.all(Array.from({ length: 5 }, () => openIndex(address)));
    const all = { filters: [], orderBy: 'startedAt', descending: true, after: null, limit: 1 } as const;
    assert.deepEqual(await Promise.all(indexes.map((index) => index.list(all))), [[], [], [], [], []]);
    await Promise.all(indexes.map((index) => index.close()));
  });
});
