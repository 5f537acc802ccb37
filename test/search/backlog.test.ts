import assert from 'node:assert/strict';
import { Backlog } from '../../lib/engine/backlog';
import type { ShardStore } from '../../lib/ports';
import { prefixRange } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';

type Batch = Map<string, Uint8Array | undefined>;

const keys = { mark: (runId: string) => `x/${runId}`, marks: prefixRange('x/') };

describe('Backlog', () => {
  let store: ShardStore;
  let now: number;
  let backlog: Backlog<string>;
  const told: string[] = [];

  beforeEach(async () => {
    store = await new MemoryStateStore().open(0);
    now = 1_000;
    told.length = 0;
    backlog = new Backlog(keys, () => now, 4);
    await backlog.readMarks(store, 10);
  });

  /** One write with these changes; `during` happens while it is under way. */
  async function write(changes: Record<string, string>, during = () => {}): Promise<number> {
    const batch: Batch = new Map();
    backlog.strike(batch);
    for (const [runId, value] of Object.entries(changes)) backlog.change(runId, value, batch);
    during();
    await store.write(batch);
    backlog.land();
    return batch.size;
  }

  /** Tells what can be told, reading marks as a feed does. */
  function tell(limit = 100): void {
    const taken = backlog.take(limit);
    for (const [runId, value] of taken) told.push(`${runId}=${value}`);
    backlog.told(taken);
  }

  async function marks(): Promise<string> {
    const found: string[] = [];
    for await (const [key] of store.scan(keys.marks)) found.push(key.slice(2));
    return found.join(' ');
  }

  it('tells the latest, in the order of the first change, once it is durable', async () => {
    await write({ a: '1', b: '1' });
    await write({ c: '1', a: '2' }, () =>
      assert.deepEqual(backlog.take(9), [
        ['a', '1'],
        ['b', '1'],
      ]),
    );
    assert.equal(backlog.size, 3);
    tell(2);
    tell();
    assert.deepEqual(told, ['a=2', 'b=1', 'c=1']);
    assert.equal(backlog.size, 0);
    assert.equal(backlog.since, null);
  });

  it('keeps marks until a later write, and those of what has changed again', async () => {
    await write({ a: '1', b: '1' });
    assert.equal(await marks(), 'a b');
    tell();
    assert.equal(await marks(), 'a b');
    await write({ b: '2' });
    assert.equal(await marks(), 'b');
    await write({ a: '2' }, tell);
    // `b` was told while the write was under way, and `a` was not.
    assert.equal(await marks(), 'a b');
    await write({});
    assert.equal(await marks(), 'a');
    tell();
    await write({});
    assert.equal(await marks(), '');
    assert.deepEqual(told, ['a=1', 'b=1', 'b=2', 'a=2']);
  });

  it('a change that was told before a newer one is durable leaves the newer one', async () => {
    await write({ a: '1' });
    const taken = backlog.take(1);
    await write({ a: '2' });
    backlog.told(taken);
    assert.deepEqual(backlog.take(1), [['a', '2']]);
    await write({});
    assert.equal(await marks(), 'a');
  });

  it('drops what memory has no room for, and finds it again by its mark', async () => {
    await write({ a: '1', b: '1', c: '1', d: '1', e: '1', f: '1' });
    assert.equal(backlog.size, 4);
    now += 500;
    tell();
    assert.ok(backlog.isUnread);
    assert.equal(backlog.since, 1_000);
    // `e` changes again before it is read; `g` comes while the marks are read.
    await write({ e: '2' });
    const found: string[] = [];
    for (let pages = 0; backlog.isUnread && pages < 20; pages++) {
      for (const runId of await backlog.readMarks(store, 1)) {
        found.push(runId);
        backlog.admit(runId, 'stored', true);
      }
      if (pages === 0) await write({ g: '1' });
    }
    assert.deepEqual(found, ['f']);
    tell();
    await write({});
    assert.equal(await marks(), '');
    assert.deepEqual(told.slice(4).sort(), ['e=2', 'f=stored', 'g=1']);
    assert.equal(backlog.since, null);
  });

  it('reads again when memory was full once more meanwhile', async () => {
    await write({ a: '1', b: '1', c: '1', d: '1', e: '1' });
    tell();
    await backlog.readMarks(store, 1);
    await write({ f: '1', g: '1', h: '1', i: '1', '0': '1' });
    while (backlog.isUnread) {
      for (const runId of await backlog.readMarks(store, 2)) backlog.admit(runId, 'stored', true);
      tell();
      await write({});
    }
    assert.equal(await marks(), '');
    assert.deepEqual(new Set(told.map((each) => each[0])), new Set([...'abcdefghi0']));
  });

  it('does not take what was read for newer than what has changed since', async () => {
    await write({ a: '2' });
    backlog.admit('a', '1', true);
    assert.deepEqual(backlog.take(1), [['a', '2']]);
  });
});
