import assert from 'node:assert/strict';
import { Attribute, DurableAttribute, Flow, Rpc } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import type { ToShard } from '../../lib/dispatch';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import { InversifyResolver } from '../../lib/inversify';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { Worker } from '../../lib/worker';
import { refuses } from '../support/expect';

@Attribute()
class Count extends DurableAttribute<number> {}

let failing = true;
let runs = 0;

@Flow()
class CountFlow {
  constructor(private readonly count: Count) {}
  @Rpc()
  add() {
    runs++;
    if (failing) throw new Error('not now');
    this.count.set((this.count.get() ?? 0) + 1);
  }
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Keeps what was sent, so that it can come once more. */
class KeptDispatch extends MemoryDispatch {
  private readonly sent: (readonly [shard: number, message: ToShard])[] = [];

  override send(shard: number, message: ToShard): Promise<void> {
    this.sent.push([shard, message]);
    return super.send(shard, message);
  }

  /** The last of these once more. */
  sendAgain(which: (message: ToShard) => boolean): Promise<void> {
    const [shard, message] = this.sent.filter(([, each]) => which(each)).at(-1)!;
    return super.send(shard, message);
  }
}

describe('A repeat that comes after its refusal', () => {
  const ids = idsBy(systemClock);
  const compiled = compile([CountFlow]);
  const dispatch = new KeptDispatch();
  const common = { compiled, dispatch, clock: systemClock, logger, shards: 1 };
  const engine = new Engine({ ...common, store: new MemoryStateStore() });
  const worker = new Worker({ ...common, process: ids.next(), resolver: new InversifyResolver() });
  const client = new Client({ ...common, process: ids.next(), ids });
  before(async () => {
    await engine.open();
    await worker.open();
    await client.open();
  });
  after(async () => {
    client.close();
    await worker.close();
    await engine.close();
  });

  it('[I1] [R6] runs no RPC of which the caller knows that it failed', async () => {
    await client.start(CountFlow, 'count');
    const rpc = client.rpc(CountFlow, 'count');
    await refuses(rpc.add(), 'RPC_FAILED');
    failing = false;
    await dispatch.sendAgain(({ kind }) => kind === 'call');
    await rpc.add();
    assert.equal(runs, 2);
    assert.equal((await client.attributes(CountFlow, 'count')).get(Count), 1);
  });

  it('[I1] [F3] starts no Flow of which the caller knows that it was not started', async () => {
    await client.start(CountFlow, 'late');
    await refuses(client.start(CountFlow, 'late', undefined, { idReuse: 'ifClosed' }), 'FLOW_ALREADY_EXISTS');
    await client.stop('late', 'cancel', 'enough');
    await dispatch.sendAgain((message) => message.kind === 'request' && message.command.kind === 'start');
    assert.equal((await client.describe('late')).status, 'cancelled');
  });
});
