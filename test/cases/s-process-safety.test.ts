import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Holdfast,
  HoldfastError,
  type Logger,
  Rpc,
  Step,
  type StepContext,
  until,
} from '../../index';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { TestEnvironment } from '../../lib/testing';

@Attribute()
class Count extends DurableAttribute<number> {}

@Channel()
class Notes extends DurableChannel<number> {}

@Step({ name: 'Work', retry: { maximumAttempts: 2, initialInterval: 1 }, onFailure: () => RestStep })
class WorkStep {
  constructor(private readonly count: Count) {}
  async execute(left: number, ctx: StepContext) {
    this.count.set((this.count.get() ?? 0) + 1);
    ctx.heartbeat(left);
    ctx.logger.info('working', { left });
    if (left === 1) throw new Error('once');
    return left > 0 ? goTo(WorkStep, left - 1) : goTo(RestStep, 0);
  }
}

@Step({ name: 'Rest' })
class RestStep {
  constructor(private readonly notes: Notes) {}
  waitFor(_left: number) {
    return until(this.notes.take(1));
  }
  execute(_left: number) {
    return gracefulComplete();
  }
}

@Flow({ retention: '1h' })
class WorkFlow {
  static readonly start = WorkStep;
  static readonly steps = [RestStep];
  constructor(private readonly notes: Notes) {}

  @Rpc()
  note(number: number) {
    this.notes.publish(number);
    return number;
  }
}

/** What must not happen to a process while `act` runs. */
async function troubles(act: () => Promise<void>): Promise<string[]> {
  const found: string[] = [];
  const rejection = (reason: unknown) => found.push(`unhandledRejection: ${reason}`);
  const exception = (error: unknown) => found.push(`uncaughtException: ${error}`);
  const warning = (each: Error) => found.push(`warning: ${each.message}`);
  const before = {
    unhandledRejection: process.listeners('unhandledRejection'),
    uncaughtException: process.listeners('uncaughtException'),
  };
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', rejection);
  process.removeAllListeners('uncaughtException').on('uncaughtException', exception);
  process.on('warning', warning);
  try {
    await act();
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.removeAllListeners('unhandledRejection');
    process.removeAllListeners('uncaughtException');
    process.off('warning', warning);
    for (const each of before.unhandledRejection) process.on('unhandledRejection', each);
    for (const each of before.uncaughtException) process.on('uncaughtException', each);
  }
  return found;
}

const fails = async () => {
  throw new HoldfastError('STORE_UNAVAILABLE', 'down');
};
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

function everyCall({ client }: Holdfast): (() => Promise<unknown>)[] {
  const deadline = 60;
  return [
    () => client.start(WorkFlow, 'w', 3, { deadline }),
    () => client.startAndPublish(WorkFlow, 'v', 3, [{ channel: Notes, value: 1 }], { deadline }),
    () => client.startAndCall(WorkFlow, 'u', 3, (rpc) => rpc.note(1), { deadline }),
    () => client.rpc(WorkFlow, 'w', { deadline }).note(1),
    () => client.publish(WorkFlow, 'w', Notes, 1, { deadline }),
    () => client.result(WorkFlow, 'w', { deadline }),
    () => client.outputs(WorkFlow, 'w', { deadline }),
    () => client.describe('w', { deadline }),
    () => client.history('w', { deadline }),
    () => client.attributes(WorkFlow, 'w', { deadline }),
    () => client.stop('w', 'cancel', 'enough', { deadline }),
    () => client.skipTimer('w', 'Rest-1', undefined, { deadline }),
    () => client.updateConfig('w', { durability: 'ASYNC' }, { deadline }),
    () => client.waitForStep(WorkFlow, 'w', RestStep, { deadline }),
    () => client.result(WorkFlow, 'w', { signal: AbortSignal.abort(new Error('given up')) }),
  ];
}

describe('Process safety', () => {
  for (const broken of ['beforeWrite', 'afterWrite', 'beforeRead', 'beforeOpen'] as const) {
    it(`[C61] with a store whose ${broken} fails, calls reject where they can be caught, and nowhere else`, async () => {
      const found = await troubles(async () => {
        const store = new MemoryStateStore();
        if (broken === 'beforeOpen') {
          store.faults = { beforeOpen: fails };
          await assert.rejects(Holdfast.open({ flows: [WorkFlow], store, logger: silent }), {
            code: 'STORE_UNAVAILABLE',
          });
          return;
        }
        const holdfast = await Holdfast.open({ flows: [WorkFlow], store, logger: silent, grace: 0 });
        await holdfast.client.start(WorkFlow, 'w', 3);
        store.faults = { [broken]: fails };
        const outcomes = await Promise.allSettled(everyCall(holdfast).map((call) => call()));
        for (const each of outcomes) {
          if (each.status === 'rejected') assert.ok(each.reason instanceof Error, String(each.reason));
        }
        assert.ok(outcomes.some(({ status }) => status === 'rejected'));
        const late = holdfast.client.result(WorkFlow, 'w').catch((error) => error.code);
        await holdfast.close();
        assert.equal(await late, 'CLOSED');
        await Promise.allSettled(everyCall(holdfast).map((call) => call()));
        await holdfast.close();
      });
      assert.deepEqual(found, []);
    });
  }

  it('[C61] opening and closing in any order, and twice at once, leaves nothing behind', async () => {
    const found = await troubles(async () => {
      for (let round = 0; round < 16; round++) {
        const holdfast = await Holdfast.open({ flows: [WorkFlow], store: 'memory:', logger: silent, grace: 0 });
        const calls = everyCall(holdfast).map((call) => call().catch(() => {}));
        if (round % 2) await Promise.all(calls);
        await Promise.all([holdfast.close(), holdfast.close()]);
        await Promise.all(calls);
      }
    });
    assert.deepEqual(found, []);
  });

  it('[C63] the heap stays flat over many Steps, RPCs, messages and cancels', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heap: number[] = [];
    const found = await troubles(async () => {
      const env = await TestEnvironment.open({ flows: [WorkFlow], logger: silent });
      for (let round = 0; round < 16; round++) {
        const use = async (i: number) => {
          const flowId = `${round}/${i}`;
          await env.client.start(WorkFlow, flowId, 4);
          if (i % 5 === 0) await env.client.stop(flowId, 'cancel', 'enough');
          else if (i % 2 === 0) await env.client.rpc(WorkFlow, flowId).note(i);
          else await env.client.publish(WorkFlow, flowId, Notes, i);
        };
        await Promise.all(Array.from({ length: 250 }, (_, i) => use(i)));
        await env.advance('1m');
        // Past the retention of the runs and the time for which ids of requests are remembered.
        await env.advance('30h');
        for (let i = 0; i < 3; i++) {
          await env.advance('1m');
          collect();
        }
        heap.push(process.memoryUsage().heapUsed);
      }
      await env.close();
    });
    assert.deepEqual(found, []);
    // By then all that is kept up to a number is there: idle Flows, tokens that ran.
    const growth = Math.min(...heap.slice(-2)) - Math.min(...heap.slice(11, 13));
    assert.ok(growth < 4 * 250 * 400, `${growth} bytes: ${heap.join()}`);
  });
});
