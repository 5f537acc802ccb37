import assert from 'node:assert/strict';
import { deadEnd, Flow, Rpc, RpcContext, Step, type StepContext } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import type { ToProcess } from '../../lib/dispatch';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import { InversifyResolver } from '../../lib/inversify';
import type { Origin } from '../../lib/ports';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { Worker } from '../../lib/worker';
import { eventually } from '../support/eventually';
import { failureOf, refuses } from '../support/expect';
import { Log } from '../support/observers';

const log = new Log();

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

@Step({ timeout: 200, heartbeatTimeout: '1s', retry: { maximumAttempts: 1 } })
class StuckStep {
  async execute(_: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'begun');
    await aborted(ctx.signal);
    log.add(ctx.flowId, 'aborted');
    return deadEnd();
  }
}

@Flow()
class StuckFlow {
  static readonly start = StuckStep;
}

@Flow()
class CalledFlow {
  // Its worker beats more often than with other calls.
  @Rpc({ transactional: true, deadline: 300 })
  async wait(ctx: RpcContext) {
    log.add(ctx.flowId, 'begun');
    await aborted(ctx.signal);
    log.add(ctx.flowId, 'aborted');
  }
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Loses the first message that says that an attempt is not wanted any more. */
class LossyDispatch extends MemoryDispatch {
  lost = 0;

  override post(process: string, message: ToProcess, from: Origin): void {
    if (message.kind === 'abort' && this.lost === 0) this.lost++;
    else super.post(process, message, from);
  }
}

describe('An abort that gets lost', () => {
  const ids = idsBy(systemClock);
  let dispatch: LossyDispatch;
  let store: MemoryStateStore;
  let client: Client;
  let close: () => Promise<void>;

  beforeEach(async () => {
    dispatch = new LossyDispatch();
    store = new MemoryStateStore();
    const compiled = compile([StuckFlow, CalledFlow]);
    const common = { compiled, dispatch, clock: systemClock, logger, shards: 1 };
    const engine = new Engine({ ...common, store });
    await engine.open();
    const settings = { graceMs: 0, abortMs: 0 };
    const worker = new Worker({ ...common, process: ids.next(), resolver: new InversifyResolver(), settings });
    await worker.open();
    client = new Client({ ...common, process: ids.next(), ids });
    await client.open();
    close = async () => {
      client.close();
      await worker.close();
      await engine.close();
    };
  });

  afterEach(() => close());

  it('[X4] [O2] is told again to a worker whose beats name the attempt of a Step', async () => {
    await client.start(StuckFlow, 'posted');
    assert.match(String((await failureOf(client, StuckFlow, 'posted')).cause), /did not end within its timeout/);
    assert.equal(dispatch.lost, 1);
    await eventually(() => assert.deepEqual(log.of('posted'), ['begun', 'aborted']), 10_000);
  });

  it('[X4] [O2] is told again to a worker whose beats name a call', async () => {
    await client.start(CalledFlow, 'called');
    await refuses(client.rpc(CalledFlow, 'called').wait(), 'DEADLINE_EXCEEDED');
    assert.equal(dispatch.lost, 1);
    await eventually(() => assert.deepEqual(log.of('called'), ['begun', 'aborted']), 20_000);
  });

  it('[X4] [P7] is told by the session that finds the attempt over, after one whose write was in doubt', async () => {
    // The abort goes with the session that waits for the write.
    store.faults.afterWrite = (batch) => {
      if (log.count('doubted', 'begun') === 0 || batch.size === 0) return;
      store.faults = {};
      throw new Error('nobody knows');
    };
    dispatch.lost = 1;
    await client.start(StuckFlow, 'doubted');
    assert.match(String((await failureOf(client, StuckFlow, 'doubted')).cause), /did not end within its timeout/);
    await eventually(() => assert.deepEqual(log.of('doubted'), ['begun', 'aborted']), 10_000);
  });
});
