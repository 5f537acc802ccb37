import assert from 'node:assert/strict';
import {
  Attribute,
  attribute,
  type Client,
  DurableAttribute,
  Flow,
  type FlowIndex,
  gracefulComplete,
  Holdfast,
  HoldfastError,
  type Logger,
  Rpc,
  Step,
  Timer,
  until,
} from '../../index';
import type { Feeder, IndexChanges, IndexedRun, IndexQuery } from '../../lib/ports';
import { prefixRange } from '../../lib/ports';
import { MemoryFlowIndex } from '../../lib/search/memory-flow-index';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { describeOnEveryStack, type System } from '../support/stacks';

@Attribute({ index: 'int' })
class Level extends DurableAttribute<number> {}

@Attribute()
class Hidden extends DurableAttribute<number> {}

@Step({ name: 'Rest' })
class RestStep {
  waitFor() {
    return until(Timer.after('1000d'));
  }

  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'level' })
class LevelFlow {
  static readonly start = RestStep;

  constructor(
    private readonly level: Level,
    private readonly hidden: Hidden,
  ) {}

  @Rpc()
  rise(to: number) {
    this.level.set(to);
  }

  @Rpc()
  hide(to: number) {
    this.hidden.set(to);
  }
}

const flows = [LevelFlow];
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** An index that a test stops and looks into. */
class WatchedIndex implements FlowIndex {
  readonly location = 'watched:';
  isDown = false;
  readonly batches: IndexChanges[] = [];
  before: (changes: IndexChanges) => Promise<void> | void = () => {};

  constructor(readonly inner = new MemoryFlowIndex()) {}

  async takeOver(feeder: Feeder): Promise<boolean> {
    this.check();
    return this.inner.takeOver(feeder);
  }

  async write(feeder: Feeder, batch: number, changes: IndexChanges): Promise<void> {
    this.check();
    await this.before(changes);
    this.check();
    await this.inner.write(feeder, batch, changes);
    this.batches.push(changes);
  }

  async list(query: IndexQuery): Promise<readonly IndexedRun[]> {
    this.check();
    return this.inner.list(query);
  }

  async close(): Promise<void> {}

  /** What can be seen of it; the number of the last event is that of the last time it was told. */
  async rows(): Promise<Omit<IndexedRun, 'events'>[]> {
    const all = { filters: [], orderBy: 'flowId', descending: false, after: null, limit: 10_000 } as const;
    return (await this.inner.list(all)).map(({ events, ...row }) => row);
  }

  private check(): void {
    if (this.isDown) throw new HoldfastError('INDEX_UNAVAILABLE', 'The test has stopped the index.');
  }
}

async function levels(client: Client): Promise<string[]> {
  const { flows: entries } = await client.list({ orderBy: 'flowId' }, { fresh: true });
  return entries.map(({ flowId, attributes }) => `${flowId} ${attributes.Level ?? '-'}`);
}

describeOnEveryStack('What is fed to the index', (stack) => {
  let index: WatchedIndex;
  beforeEach(() => {
    index = new WatchedIndex();
  });

  it('[A4] [P6] what was saved and not told when the engine died is told by the next one', async () => {
    const system = await stack.open({ flows, index });
    const { client } = system;
    await client.start(LevelFlow, 'before');
    await levels(client);
    index.isDown = true;
    await client.start(LevelFlow, 'after');
    await client.rpc(LevelFlow, 'before').rise(1);
    await client.rpc(LevelFlow, 'before').rise(2);
    await client.stop('after', 'cancel', 'enough');
    await system.crash();
    index.isDown = false;
    assert.deepEqual(await levels(system.client), ['after -', 'before 2']);
    assert.equal((await index.rows())[0]!.status, 'cancelled');
  });

  it('[A4] [P6] one that dies between the save and the index, again and again, loses nothing', async () => {
    const system = await stack.open({ flows, index });
    for (let round = 0; round < 4; round++) {
      index.isDown = round % 2 === 0;
      await system.client.start(LevelFlow, `f${round}`);
      await system.client.rpc(LevelFlow, `f${round}`).rise(round);
      if (round > 0) await system.client.rpc(LevelFlow, `f${round - 1}`).rise(10 + round);
      await system.crash();
    }
    index.isDown = false;
    assert.deepEqual(await levels(system.client), ['f0 11', 'f1 12', 'f2 13', 'f3 3']);
  });

  it('[A4] an index that is down holds nothing up, says how far it is behind, and catches up', async () => {
    const system = await stack.open({ flows, index });
    const { client } = system;
    await client.start(LevelFlow, 'first');
    await levels(client);
    index.isDown = true;
    for (let i = 0; i < 30; i++) await client.start(LevelFlow, `f${i}`);
    const state = await eventually(async () => {
      const [each] = await client.indexState();
      assert.notEqual(each!.failing, null);
      return each!;
    });
    assert.match(state.failing!, /stopped the index/);
    assert.equal(state.pending, 30);
    assert.equal((await client.describe('f29')).status, 'running');
    await assert.rejects(client.list({}, { fresh: true }), { code: 'INDEX_UNAVAILABLE' });
    await system.advance(60_000);
    assert.ok((await client.indexState())[0]!.lagMs >= 60_000);
    index.isDown = false;
    await system.advance(60_000);
    await eventually(async () => assert.equal((await index.rows()).length, 31));
    const [caughtUp] = await client.indexState();
    assert.deepEqual(
      { ...caughtUp },
      { shard: 0, index: 'watched:', pending: 0, lagMs: 0, rebuilding: false, failing: null },
    );
  });

  it('[A4] an index that was lost, or that is new to the store, is written from it', async () => {
    const system = await stack.open({ flows });
    for (const flowId of ['a', 'b', 'c']) await system.client.start(LevelFlow, flowId);
    await system.client.rpc(LevelFlow, 'b').rise(7);
    await assert.rejects(system.client.list(), { code: 'NO_INDEX', fix: /index/ });
    await assert.rejects(system.client.indexState(), { code: 'NO_INDEX' });
    await system.crash({ index });
    await eventually(async () => assert.deepEqual(await levels(system.client), ['a -', 'b 7', 'c -']));
    // What says that all was written goes with the next change.
    await system.client.rpc(LevelFlow, 'c').rise(3);
    // Without an index nobody notes what changes.
    await system.crash({ index: undefined as never });
    await system.client.rpc(LevelFlow, 'a').rise(1);
    await system.client.start(LevelFlow, 'd');
    await system.crash({ index });
    await eventually(async () => assert.deepEqual(await levels(system.client), ['a 1', 'b 7', 'c 3', 'd -']));
    const lost = new WatchedIndex();
    await system.crash({ index: lost });
    await eventually(async () => assert.deepEqual(await lost.rows(), await index.rows()));
  });

  it('[A4] rebuilt, it is what it was, without what does not belong there, and goes on after a crash', async () => {
    const system = await stack.open({ flows, index });
    for (let i = 0; i < 450; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, k) => system.client.start(LevelFlow, `f${i + k}`)));
    }
    await levels(system.client);
    const fed = await index.rows();
    assert.equal(fed.length, 450);
    // Somebody else's row, one that was changed, and one that is missing.
    const inner = index.inner as unknown as { rows: Map<string, { run: IndexedRun; shard: number; feed: string }> };
    const [changed, missing] = fed;
    inner.rows.set('strange', { run: { ...changed!, runId: 'strange', events: 1 }, shard: 0, feed: 'old' });
    inner.rows.set(changed!.runId, { run: { ...changed!, flow: 'wrong', events: 1 }, shard: 0, feed: 'old' });
    inner.rows.delete(missing!.runId);
    let pages = 0;
    index.before = () => {
      if (++pages === 2) index.isDown = true;
    };
    system.client.rebuildIndex().catch(() => {});
    await eventually(() => index.isDown);
    await system.client.start(LevelFlow, 'meanwhile');
    await system.crash();
    index.isDown = false;
    const state = await eventually(async () => {
      const [each] = await system.client.indexState();
      assert.equal(each!.rebuilding, false);
      return each!;
    });
    assert.equal(state.failing, null);
    await levels(system.client);
    const rebuilt = await index.rows();
    assert.deepEqual(
      rebuilt.filter(({ flowId }) => flowId !== 'meanwhile'),
      fed,
    );
    assert.equal(rebuilt.length, 451);
    assert.ok(pages < 8, `it began anew: ${pages} pages`);
  });

  it('[A4] costs no write of its own, and little in each', async () => {
    const work = async (system: System) => {
      for (let i = 0; i < 12; i++) {
        await system.client.start(LevelFlow, `f${i}`);
        await system.client.rpc(LevelFlow, `f${i}`).rise(i);
        await system.client.rpc(LevelFlow, `f${i}`).hide(i);
      }
      await eventually(async () => (await system.client.describe('f11')).steps[0]?.state === 'waiting');
      return system.stats;
    };
    const without = await stack.open({ flows });
    const { writes, bytes, records } = await work(without);
    const system = await stack.open({ flows, index });
    await levels(system.client);
    const before = system.stats;
    const fed = await work(system);
    assert.ok(fed.writes - before.writes <= writes + 2, `${fed.writes - before.writes} writes instead of ${writes}`);
    // A mark that is set and struck off for each change that the index shows: starts and rise, not hide.
    assert.ok(
      fed.records - before.records <= records + 12 * 4 + 4,
      `${fed.records - before.records} instead of ${records}`,
    );
    assert.ok(fed.bytes - before.bytes <= bytes * 1.15, `${fed.bytes - before.bytes} bytes instead of ${bytes}`);
  });
});

describe('What is fed to the index, and when', () => {
  it('[P4] tells nothing before it is durable', async () => {
    let isHeld = false;
    let release = () => {};
    const store = new MemoryStateStore({
      beforeWrite: () => {
        if (isHeld)
          return new Promise<void>((resolve) => {
            release = resolve;
          });
      },
    });
    const index = new WatchedIndex();
    const holdfast = await Holdfast.open({ flows, store, index, logger: silent });
    await holdfast.client.list({}, { fresh: true });
    isHeld = true;
    const started = holdfast.client.start(LevelFlow, 'held');
    await holdfast.client.list({}, { fresh: true });
    await new Promise<void>((resolve) => setImmediate(resolve));
    assert.deepEqual(await index.rows(), []);
    isHeld = false;
    release();
    await started;
    await eventually(async () => assert.equal((await index.rows()).length, 1));
    await holdfast.close();
  });

  it('[A4] keeps no mark of what was told, and none without an index', async () => {
    const store = new MemoryStateStore();
    const index = new WatchedIndex();
    const marks = async () => {
      const shard = await store.open(0);
      const found: string[] = [];
      for await (const [key] of shard.scan(prefixRange('x/'))) found.push(key);
      const record = await shard.get('m/index');
      await shard.close();
      return { marks: found.length, record: record !== undefined };
    };
    const open = (with_: FlowIndex | undefined) =>
      Holdfast.open({ flows, store: withoutClose(store), logger: silent, ...(with_ && { index: with_ }) });
    let holdfast = await open(index);
    await holdfast.client.start(LevelFlow, 'a');
    await holdfast.client.list({}, { fresh: true });
    await holdfast.client.rpc(LevelFlow, 'a').hide(1);
    await holdfast.close();
    assert.deepEqual(await marks(), { marks: 0, record: true });
    holdfast = await open(undefined);
    await holdfast.client.start(LevelFlow, 'b');
    await holdfast.close();
    assert.deepEqual(await marks(), { marks: 0, record: false });
  });
});

function withoutClose(store: MemoryStateStore) {
  return { location: store.location, open: (shard: number) => store.open(shard), close: async () => {} };
}

describe('Attributes that the index shows', () => {
  it('[A4] are found under the name they have now, whichever they were stored under', async () => {
    const index = new MemoryFlowIndex();
    const store = withoutClose(new MemoryStateStore());
    const before = await Holdfast.open({ flows, store, index, logger: silent });
    await before.client.start(LevelFlow, 'old');
    await before.client.rpc(LevelFlow, 'old').rise(5);
    await before.client.list({}, { fresh: true });
    await before.close();
    const after = await Holdfast.open({ flows: [renamed.LevelFlow], store, index, logger: silent });
    const { client } = after;
    const of = async (level: number) => {
      const where = [attribute(renamed.Height).equals(level)];
      return (await client.list({ flow: renamed.LevelFlow, where }, { fresh: true })).flows.map(({ flowId }) => flowId);
    };
    assert.deepEqual(await of(5), ['old']);
    await client.rpc(renamed.LevelFlow, 'old').rise(6);
    assert.deepEqual(await of(6), ['old']);
    assert.deepEqual(await of(5), []);
    await after.close();
  });
});

const renamed = (() => {
  @Attribute({ index: 'int', name: 'Height', aliases: ['Level'] })
  class Height extends DurableAttribute<number> {}

  @Flow({ name: 'level' })
  class LevelFlow {
    static readonly start = RestStep;

    constructor(
      private readonly height: Height,
      readonly hidden: Hidden,
    ) {}

    @Rpc()
    rise(to: number) {
      this.height.set(to);
    }
  }
  return { Height, LevelFlow };
})();
