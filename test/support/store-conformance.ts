import assert from 'node:assert/strict';
import { HoldfastError } from '../../lib/errors';
import { type Entry, type KeyRange, prefixRange, type ShardStore, type StateStore } from '../../lib/ports';

/** A place for state that outlives the stores opened on it. */
export interface StorePlace {
  /** A store on this place; the one before must be closed. */
  open(): Promise<StateStore>;
  remove(): Promise<void>;
}

/** What every adapter of `StateStore` promises. */
export function describeStateStore(name: string, makePlace: () => Promise<StorePlace>): void {
  describe(`StateStore: ${name}`, () => {
    let place: StorePlace;
    let store: StateStore;
    const opened: ShardStore[] = [];

    const openShard = async (shard = 0) => {
      const handle = await store.open(shard);
      opened.push(handle);
      return handle;
    };
    const closeAll = async () => {
      for (const handle of opened.splice(0)) await handle.close();
      await store.close();
    };

    beforeEach(async () => {
      place = await makePlace();
      store = await place.open();
    });
    afterEach(async () => {
      await closeAll();
      await place.remove();
    });

    it('gives back what was written, and undefined for what was not', async () => {
      const shard = await openShard();
      await shard.write(batch({ a: 'one', empty: '' }));
      assert.equal(await textAt(shard, 'a'), 'one');
      assert.equal(await textAt(shard, 'empty'), '');
      assert.equal(await shard.get('b'), undefined);
    });

    it('keeps the last value of a key, and nothing of a deleted one', async () => {
      const shard = await openShard();
      await shard.write(batch({ a: '1', b: '1', c: '1' }));
      await shard.write(batch({ a: '2', b: undefined, never: undefined }));
      await shard.write(batch({ a: '3' }));
      assert.deepEqual(await keysAndTexts(shard, ALL), ['a=3', 'c=1']);
      await shard.write(batch({ b: 'again' }));
      assert.deepEqual(await keysAndTexts(shard, ALL), ['a=3', 'b=again', 'c=1']);
    });

    it('scans in the order of the UTF-8 bytes', async () => {
      const shard = await openShard();
      const keys = [
        'z',
        'a/b',
        'a:b',
        'a',
        'a\u0000b',
        'a b',
        'é',
        '\uffee',
        '\u{1f600}',
        '\u{1f600}x',
        '\ue000',
        'Z',
        '~',
        '\u0001',
      ];
      await shard.write(new Map(keys.map((key) => [key, bytes(key)])));
      const expected = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const scanned = await collect(shard.scan(ALL));
      assert.deepEqual(
        scanned.map(([key]) => key),
        expected,
      );
      for (const [key, value] of scanned) assert.equal(text(value), key);
    });

    it('scans from the first key of a range to before its end, up to the limit', async () => {
      const shard = await openShard();
      await shard.write(batch({ 'r/1': '', 'r/2': '', 'r/3': '', r0: '', 'q/9': '' }));
      const scan = async (range: KeyRange) => (await collect(shard.scan(range))).map(([key]) => key);
      assert.deepEqual(await scan(prefixRange('r/')), ['r/1', 'r/2', 'r/3']);
      assert.deepEqual(await scan({ from: 'r/1', to: 'r/3' }), ['r/1', 'r/2']);
      assert.deepEqual(await scan({ from: 'r/11', to: 's' }), ['r/2', 'r/3', 'r0']);
      assert.deepEqual(await scan({ ...prefixRange('r/'), limit: 2 }), ['r/1', 'r/2']);
      assert.deepEqual(await scan({ ...prefixRange('r/'), limit: 0 }), []);
      assert.deepEqual(await scan({ from: 'r/3', to: 'r/1' }), []);
      assert.deepEqual(await scan({ from: 's', to: 't' }), []);
    });

    it('scans one moment, whatever is written meanwhile', async () => {
      const shard = await openShard();
      await shard.write(new Map(Array.from({ length: 50 }, (_, i) => [`k${i + 10}`, bytes('old')])));
      const seen: string[] = [];
      for await (const [key, value] of shard.scan(ALL)) {
        seen.push(text(value));
        if (key === 'k10') await shard.write(batch({ k11: undefined, k12: 'new', k999: 'new', k59: 'new' }));
      }
      assert.deepEqual(
        seen,
        Array.from({ length: 50 }, () => 'old'),
      );
    });

    it('lets a scan be left early', async () => {
      const shard = await openShard();
      await shard.write(batch({ a: '1', b: '2' }));
      for await (const [key] of shard.scan(ALL)) {
        assert.equal(key, 'a');
        break;
      }
      await shard.write(batch({ a: '2' }));
      assert.deepEqual(await keysAndTexts(shard, ALL), ['a=2', 'b=2']);
    });

    it('[P7] shows a batch as a whole or not at all', async () => {
      const shard = await openShard();
      const big = new Map(Array.from({ length: 2_000 }, (_, i) => [`k${i}`, bytes('x'.repeat(100))]));
      let written = false;
      const writing = shard.write(big).then(() => {
        written = true;
      });
      do {
        await new Promise(setImmediate);
        const { length } = await collect(shard.scan(ALL));
        assert.ok(length === 0 || length === big.size, `a scan saw ${length} of ${big.size}`);
      } while (!written);
      await writing;
      assert.equal((await collect(shard.scan(ALL))).length, big.size);
    });

    it('takes 10,000 records in one batch', async () => {
      const shard = await openShard();
      await shard.write(new Map(Array.from({ length: 10_000 }, (_, i) => [`k/${i}`, bytes(`v${i}`)])));
      assert.equal(await textAt(shard, 'k/9999'), 'v9999');
      assert.equal((await collect(shard.scan(prefixRange('k/')))).length, 10_000);
    });

    it('takes values of 3 MiB and keys of 1,900 bytes', async () => {
      const shard = await openShard();
      const large = Buffer.alloc(3 * 1024 * 1024, 'holdfast');
      const key = 'k'.repeat(1_900);
      await shard.write(new Map([[key, large]]));
      assert.ok(Buffer.from((await shard.get(key))!).equals(large));
      const [entry] = await collect(shard.scan(ALL));
      assert.ok(Buffer.from(entry![1]).equals(large));
    });

    it('takes an empty batch', async () => {
      const shard = await openShard();
      await shard.write(new Map());
      assert.deepEqual(await keysAndTexts(shard, ALL), []);
    });

    it('refuses a batch with an empty or reserved key as a whole', async () => {
      const shard = await openShard();
      await rejects(shard.write(batch({ a: '1', '': '2' })), 'INVALID_ARGUMENT');
      await rejects(shard.write(batch({ a: '1', '\u0000epoch': '2' })), 'INVALID_ARGUMENT');
      assert.deepEqual(await keysAndTexts(shard, ALL), []);
      await shard.write(batch({ a: '3' }));
      assert.deepEqual(await keysAndTexts(shard, ALL), ['a=3']);
    });

    it('applies writes in the order of their calls', async () => {
      const shard = await openShard();
      const writes = Array.from({ length: 20 }, (_, i) => shard.write(batch({ last: `${i}`, [`k${i}`]: '' })));
      await Promise.all(writes);
      assert.equal(await textAt(shard, 'last'), '19');
    });

    it('[P4] keeps what was written over closing and opening', async () => {
      await (await openShard()).write(batch({ a: '1', b: '2' }));
      await closeAll();
      store = await place.open();
      assert.deepEqual(await keysAndTexts(await openShard(), ALL), ['a=1', 'b=2']);
    });

    it('keeps shards apart', async () => {
      const [zero, one] = [await openShard(0), await openShard(1)];
      await zero.write(batch({ a: 'zero' }));
      await one.write(batch({ a: 'one' }));
      assert.equal(await textAt(zero, 'a'), 'zero');
      assert.equal(await textAt(one, 'a'), 'one');
    });

    it('[P5] fences the writer that was before', async () => {
      const first = await openShard();
      await first.write(batch({ a: 'first' }));
      const second = await openShard();
      await rejects(first.write(batch({ a: 'too late', b: 'too late' })), 'FENCED');
      await rejects(first.write(batch({ a: 'still too late' })), 'FENCED');
      assert.deepEqual(await keysAndTexts(second, ALL), ['a=first']);
      await second.write(batch({ a: 'second' }));
      await first.close();
      assert.equal(await textAt(second, 'a'), 'second');
    });

    it('[P5] counts the epoch up with every opening', async () => {
      const first = await openShard();
      const second = await openShard();
      assert.ok(second.epoch > first.epoch);
      await closeAll();
      store = await place.open();
      const third = await openShard();
      assert.ok(third.epoch > second.epoch);
    });

    it('refuses to be used after close', async () => {
      const shard = await openShard();
      const inFlight = shard.write(batch({ a: '1' }));
      await shard.close();
      await inFlight.catch((failure) => assert.equal(failure.code, 'CLOSED'));
      await rejects(shard.write(batch({ a: '2' })), 'CLOSED');
      await rejects(shard.get('a'), 'CLOSED');
      await rejects(collect(shard.scan(ALL)), 'CLOSED');
      await shard.close();
      const again = await openShard();
      assert.notEqual(await textAt(again, 'a'), '2');
    });

    it('can be closed twice', async () => {
      await store.close();
      await store.close();
    });

    it('counts what it writes', async () => {
      const shard = await openShard();
      assert.deepEqual({ ...shard.stats }, { writes: 0, records: 0, bytes: 0 });
      await shard.write(batch({ ab: '123', c: undefined }));
      await shard.write(batch({ ab: '4' }));
      assert.deepEqual({ ...shard.stats }, { writes: 2, records: 3, bytes: 9 });
    });
  });
}

const ALL: KeyRange = { from: '', to: '\u{10ffff}' };

export function batch(entries: Record<string, string | undefined>): Map<string, Uint8Array | undefined> {
  return new Map(Object.entries(entries).map(([key, value]) => [key, value === undefined ? undefined : bytes(value)]));
}

export async function collect(scan: AsyncIterable<Entry>): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of scan) entries.push(entry);
  return entries;
}

export async function textAt(shard: ShardStore, key: string): Promise<string | undefined> {
  const value = await shard.get(key);
  return value === undefined ? undefined : text(value);
}

export async function keysAndTexts(shard: ShardStore, range: KeyRange): Promise<string[]> {
  return (await collect(shard.scan(range))).map(([key, value]) => `${key}=${text(value)}`);
}

export async function rejects(promise: Promise<unknown>, code: string): Promise<void> {
  await assert.rejects(promise, (failure) => {
    assert.ok(failure instanceof HoldfastError, String(failure));
    assert.equal(failure.code, code, failure.message);
    return true;
  });
}

function bytes(value: string): Uint8Array {
  return Buffer.from(value);
}

function text(value: Uint8Array): string {
  return Buffer.from(value).toString();
}
