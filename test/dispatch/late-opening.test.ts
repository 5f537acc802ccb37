import assert from 'node:assert/strict';
import { Flow, Rpc } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import type { ShardInbox } from '../../lib/dispatch';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import { HoldfastError } from '../../lib/errors';
import type { ShardStore } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { Gate } from '../support/observers';
import { turns } from '../support/turns';

@Flow()
class IdleFlow {
  @Rpc()
  go() {}
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Counts the inboxes that are open. */
class CountingDispatch extends MemoryDispatch {
  open = 0;

  override openInbox(shard: number, onArrival: () => void): ShardInbox {
    const inbox = super.openInbox(shard, onArrival);
    this.open++;
    return {
      isHeard: true,
      take: (limit) => inbox.take(limit),
      trim: (count) => inbox.trim(count),
      rewind: () => inbox.rewind(),
      close: () => {
        this.open--;
        inbox.close();
      },
    };
  }
}

/** Its shard is opened at once, and whoever asked for that hears of it when the gate is open. */
class SlowStore extends MemoryStateStore {
  readonly gate = new Gate();
  /** The next opening comes to the gate. */
  isSlow = false;
  openShards = 0;

  override async open(shard: number): Promise<ShardStore> {
    const { isSlow } = this;
    this.isSlow = false;
    const opened = await super.open(shard);
    this.openShards++;
    const close = opened.close.bind(opened);
    opened.close = () => {
      this.openShards--;
      return close();
    };
    if (isSlow) await this.gate.pass('opened');
    return opened;
  }
}

describe('An opening that comes to its end after its shard was let go', () => {
  const ids = idsBy(systemClock);
  let dispatch: CountingDispatch;
  let store: SlowStore;
  let engine: Engine;
  let client: Client;

  beforeEach(async () => {
    dispatch = new CountingDispatch();
    store = new SlowStore();
    const common = { compiled: compile([IdleFlow]), dispatch, clock: systemClock, logger, shards: 1 };
    engine = new Engine({ ...common, store });
    await engine.open();
    client = new Client({ ...common, process: ids.next(), ids });
    await client.open();
    await client.start(IdleFlow, 'before');
    store.isSlow = true;
    store.faults.beforeWrite = () => {
      store.faults = {};
      throw new HoldfastError('STORE_UNAVAILABLE', 'The store is away for once.');
    };
    client.start(IdleFlow, 'failed').catch(() => {});
    await eventually(() => store.gate.arrived('opened') === 1, 10_000);
    await engine.close();
  });

  afterEach(async () => {
    client.close();
    await engine.close();
  });

  it('[P5] opens no inbox, and closes what it has opened', async () => {
    store.gate.open('opened');
    await eventually(() => store.openShards === 0, 10_000);
    await turns(20);
    assert.equal(dispatch.open, 0);
  });

  it('[P5] [X10] does not take the place of the session that was begun since', async () => {
    await engine.open();
    await client.start(IdleFlow, 'since');
    store.gate.open('opened');
    await turns(20);
    await client.start(IdleFlow, 'after', undefined, { deadline: '10s' });
    assert.deepEqual([store.openShards, dispatch.open], [1, 1]);
  });
});
