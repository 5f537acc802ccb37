import assert from 'node:assert/strict';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { batch, describeStateStore, keysAndTexts, rejects, textAt } from '../support/store-conformance';

describeStateStore('memory', async () => {
  const store = new MemoryStateStore();
  return { open: async () => store, remove: async () => {} };
});

describe('MemoryStateStore faults', () => {
  it('[P7] a refused write leaves nothing, and its shard must be reopened', async () => {
    const store = new MemoryStateStore({
      beforeWrite: () => {
        throw new Error('disk full');
      },
    });
    const shard = await store.open(0);
    await rejects(shard.write(batch({ a: '1' })), 'STORE_UNAVAILABLE');
    store.faults = {};
    await rejects(shard.write(batch({ a: '2' })), 'STORE_UNAVAILABLE');
    const again = await store.open(0);
    assert.equal(await again.get('a'), undefined);
    await again.write(batch({ a: '3' }));
    assert.equal(await textAt(again, 'a'), '3');
  });

  it('[P7] a write of unknown outcome is there after reopening', async () => {
    const store = new MemoryStateStore({
      afterWrite: () => {
        throw new Error('connection lost');
      },
    });
    const shard = await store.open(0);
    await rejects(shard.write(batch({ a: '1' })), 'STORE_UNAVAILABLE');
    assert.equal(await textAt(await store.open(0), 'a'), '1');
  });

  it('writes that waited behind a failed one are not applied', async () => {
    let failures = 1;
    const store = new MemoryStateStore({
      beforeWrite: () => {
        if (failures-- > 0) throw new Error('once');
      },
    });
    const shard = await store.open(0);
    const [first, second] = [shard.write(batch({ a: '1' })), shard.write(batch({ b: '2' }))];
    await rejects(first, 'STORE_UNAVAILABLE');
    await rejects(second, 'STORE_UNAVAILABLE');
    assert.deepEqual(await keysAndTexts(await store.open(0), { from: '', to: '~' }), []);
  });

  it('[P5] a write that waits while another owner opens is fenced', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const store = new MemoryStateStore({ beforeWrite: () => gate });
    const first = await store.open(0);
    const writing = first.write(batch({ a: 'late' }));
    const second = await store.open(0);
    go();
    await rejects(writing, 'FENCED');
    assert.equal(await second.get('a'), undefined);
  });
});
