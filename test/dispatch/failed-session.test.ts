import assert from 'node:assert/strict';
import { Flow, Rpc } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import { HoldfastError } from '../../lib/errors';
import { MemoryFlowIndex } from '../../lib/search/memory-flow-index';
import { keys } from '../../lib/store/keys';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { CountingClock } from '../support/counting-clock';
import { refuses } from '../support/expect';
import { ObservedStore } from '../support/observed-store';
import { turns } from '../support/turns';

@Flow()
class IdleFlow {
  @Rpc()
  go() {}
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

describe('A session that fails while it reads what is stored', () => {
  const ids = idsBy(systemClock);
  let clock: CountingClock;
  let store: ObservedStore;
  let engine: Engine;
  let client: Client;

  beforeEach(async () => {
    clock = new CountingClock(systemClock);
    store = new ObservedStore(new MemoryStateStore());
    const common = { compiled: compile([IdleFlow]), dispatch: new MemoryDispatch(), logger, shards: 1 };
    engine = new Engine({ ...common, store: store.forProcess(), clock, index: new MemoryFlowIndex() });
    client = new Client({ ...common, process: ids.next(), ids, clock: systemClock });
    await client.open();
  });

  afterEach(async () => {
    client.close();
    await engine.close();
  });

  /** What is due is read last: by then a session has set timers. */
  function failReads(count: number): void {
    store.faults.beforeScan = ({ from }) => {
      if (from !== keys.wakesBetween(0, 0).from || count-- === 0) return;
      throw new HoldfastError('STORE_UNAVAILABLE', 'The store is away.');
    };
  }

  it('[P5] [P7] leaves no timer when its engine cannot be opened', async () => {
    failReads(1);
    await refuses(engine.open(), 'STORE_UNAVAILABLE');
    await turns(20);
    assert.equal(clock.timers, 0);
  });

  it('[P5] [P7] leaves no timer to the ones that are opened after it', async () => {
    await engine.open();
    failReads(3);
    store.faults.beforeWrite = () => {
      delete store.faults.beforeWrite;
      throw new HoldfastError('STORE_UNAVAILABLE', 'The store is away.');
    };
    await client.start(IdleFlow, 'then');
    await engine.close();
    assert.equal(clock.timers, 0);
  });
});
