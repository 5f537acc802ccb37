import assert from 'node:assert/strict';
import { Attribute, DurableAttribute, Flow, goTo, goToMany, gracefulComplete, Step, to } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import { InversifyResolver } from '../../lib/inversify';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { Worker } from '../../lib/worker';
import { Log } from '../support/observers';

const log = new Log();
let running = 0;
let most = 0;

@Attribute()
class Count extends DurableAttribute<number> {}

@Step()
class LastStep {
  constructor(private readonly count: Count) {}
  execute(n: number, ctx: { flowId: string }) {
    log.add(ctx.flowId, `last ${n}`);
    return gracefulComplete(n + (this.count.get() ?? 0));
  }
}

@Step()
class MiddleStep {
  constructor(private readonly count: Count) {}
  execute(n: number, ctx: { flowId: string }) {
    log.add(ctx.flowId, `middle ${n}`);
    this.count.set(100);
    return goTo(LastStep, n + 1);
  }
}

@Step()
class LeafStep {
  async execute(n: number) {
    running++;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 2));
    running--;
    return gracefulComplete(n);
  }
}

@Flow()
class ChainFlow {
  static readonly start = MiddleStep;
  static readonly steps = [LastStep];
}

@Step()
class SpreadStep {
  execute(n: number) {
    const [first, ...rest] = Array.from({ length: n }, (_, i) => to(LeafStep, i));
    return goToMany(first!, ...rest);
  }
}

@Flow()
class WideFlow {
  static readonly start = SpreadStep;
  static readonly steps = [LeafStep];
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

describe('A worker that looks for its work', () => {
  const ids = idsBy(systemClock);
  const compiled = compile([ChainFlow, WideFlow]);

  async function open(workers: number, slots: number) {
    const dispatch = new MemoryDispatch();
    const store = new MemoryStateStore();
    const common = { compiled, dispatch, clock: systemClock, logger, shards: 4 };
    const engine = new Engine({ store, dispatch, clock: systemClock, logger, settings: { shards: 4 } });
    await engine.open();
    const client = new Client({ ...common, process: ids.next(), ids });
    await client.open();
    const opened: Worker[] = [];
    for (let i = 0; i < workers; i++) {
      const resolver = new InversifyResolver();
      const worker = new Worker({ ...common, process: ids.next(), resolver, standing: false, settings: { slots } });
      await worker.open();
      opened.push(worker);
    }
    return {
      client,
      store,
      workers: opened,
      async close() {
        await Promise.all(opened.map((worker) => worker.close()));
        client.close();
        await engine.close();
      },
    };
  }

  it('claims hints, and gets the rest of a chain with its results', async () => {
    const system = await open(1, 5);
    await Promise.all(Array.from({ length: 20 }, (_, i) => system.client.start(ChainFlow, `chain-${i}`, i)));
    for (let i = 0; i < 20; i++) {
      assert.equal(await system.client.result(ChainFlow, `chain-${i}`), i + 101);
      assert.deepEqual(log.of(`chain-${i}`), [`middle ${i}`, `last ${i + 1}`]);
    }
    await system.close();
  });

  it('takes no more than it has slots for, and shares with others [X13]', async () => {
    const system = await open(2, 3);
    most = 0;
    await system.client.start(WideFlow, 'wide', 200);
    assert.equal((await system.client.outputs(WideFlow, 'wide')).length, 200);
    assert.ok(most <= 6 && most >= 4, `${most} ran at a time`);
    await system.close();
  });

  it('goes on when one of two workers drains [X6]', async () => {
    const system = await open(2, 3);
    await system.client.start(WideFlow, 'drained', 100);
    await system.workers[0]!.close();
    const history = await system.client.history('drained');
    assert.equal((await system.client.outputs(WideFlow, 'drained')).length, 100);
    assert.ok(history.length > 0);
    await system.close();
  });
});
