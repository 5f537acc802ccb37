import assert from 'node:assert/strict';
import { deadEnd, Flow, Rpc, Step, type StepContext } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import type { ToProcess } from '../../lib/dispatch';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import { HoldfastError } from '../../lib/errors';
import { InversifyResolver } from '../../lib/inversify';
import type { Origin, ShardStore } from '../../lib/ports';
import { keys } from '../../lib/store/keys';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { Worker } from '../../lib/worker';
import { eventually } from '../support/eventually';
import { refuses } from '../support/expect';
import { Gate } from '../support/observers';

let gate: Gate;

@Step()
class HeldStep {
  async execute(_: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return deadEnd();
  }
}

@Flow()
class HeldFlow {
  static readonly start = HeldStep;
}

@Flow()
class CalledFlow {
  @Rpc()
  async hold() {
    await gate.pass('called');
  }
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Keeps what was posted. */
class KeptDispatch extends MemoryDispatch {
  readonly posted: ToProcess[] = [];

  override post(process: string, message: ToProcess, from: Origin): void {
    this.posted.push(message);
    super.post(process, message, from);
  }

  get discarded(): number {
    return this.posted.filter((message) => message.kind === 'resultTaken' && !message.accepted).length;
  }
}

/** A record in it can be damaged under the hands of who has the shard open. */
class DamagedStore extends MemoryStateStore {
  damaged: string | undefined;

  override async open(shard: number): Promise<ShardStore> {
    const opened = await super.open(shard);
    const get = opened.get.bind(opened);
    opened.get = async (key) => (key === this.damaged ? Uint8Array.of(0x31, 0xc1) : get(key));
    return opened;
  }
}

describe('What a worker has in hand of a Flow that is blocked meanwhile', () => {
  const ids = idsBy(systemClock);
  let dispatch: KeptDispatch;
  let store: DamagedStore;
  let engine: Engine;
  let worker: Worker;
  let client: Client;

  beforeEach(async () => {
    gate = new Gate();
    dispatch = new KeptDispatch();
    store = new DamagedStore();
    const compiled = compile([HeldFlow, CalledFlow]);
    const common = { compiled, dispatch, clock: systemClock, logger, shards: 1 };
    engine = new Engine({ ...common, store });
    await engine.open();
    // Longer than any test waits.
    const settings = { graceMs: 600_000 };
    worker = new Worker({ ...common, process: ids.next(), resolver: new InversifyResolver(), settings });
    await worker.open();
    client = new Client({ ...common, process: ids.next(), ids });
    await client.open();
  });

  afterEach(async () => {
    client.close();
    // Ends the grace where the worker is still closing.
    worker.close();
    await worker.close();
    await engine.close();
  });

  /** Parks the Flow, as a shard does that reads its records anew after a doubt. */
  async function block(flowId: string, runId: string): Promise<void> {
    store.damaged = keys.run(runId);
    store.faults.beforeWrite = () => {
      store.faults = {};
      throw new HoldfastError('STORE_UNAVAILABLE', 'The store is away for once.');
    };
    await client.start(CalledFlow, `${flowId}-other`);
    await eventually(async () => void (await refuses(client.describe(flowId), 'CORRUPT_RECORD')), 20_000);
  }

  async function isDoneWith(flowId: string): Promise<void> {
    assert.equal(dispatch.discarded, 0);
    gate.open(flowId);
    await eventually(() => assert.equal(dispatch.discarded, 1), 10_000);
    let isClosed = false;
    worker.close().then(() => {
      isClosed = true;
    });
    await eventually(() => assert.ok(isClosed, 'the worker still holds it'), 10_000);
  }

  it('[P10] [X5] is done with once the handler of a Step has ended', async () => {
    const { runId } = await client.start(HeldFlow, 'held');
    await eventually(() => gate.arrived('held') === 1);
    await block('held', runId);
    await isDoneWith('held');
  });

  it('[P10] [X5] is done with once the handler of a call has ended', async () => {
    const { runId } = await client.start(CalledFlow, 'called');
    const refused = refuses(client.rpc(CalledFlow, 'called').hold(), 'CORRUPT_RECORD');
    await eventually(() => gate.arrived('called') === 1);
    await block('called', runId);
    await isDoneWith('called');
    await refused;
  });
});
