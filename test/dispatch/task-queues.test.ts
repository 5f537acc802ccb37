import assert from 'node:assert/strict';
import { Holdfast, type HoldfastOptions } from '../../index';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { eventsOf } from '../support/expect';
import { type Job, JobsFlow, jobs } from '../support/queue-flows';

describe('Task queues with a policy, in one process', () => {
  let holdfast: Holdfast;

  async function open(limited: NonNullable<HoldfastOptions['taskQueues']>[string]): Promise<void> {
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const taskQueues = { limited };
    holdfast = await Holdfast.open({ flows: [JobsFlow], store: new MemoryStateStore(), logger, taskQueues, grace: 0 });
  }

  afterEach(() => holdfast.close());

  async function run(flowId: string, all: readonly Job[]) {
    await holdfast.client.start(JobsFlow, flowId, all);
    await holdfast.client.result(JobsFlow, flowId);
    return jobs.get(flowId)!;
  }

  it('[T1] concurrency', async () => {
    await open({ concurrency: 3 });
    const { most, begun } = await run(
      'concurrency',
      many(20, (n) => ({ n, ms: 5 })),
    );
    assert.equal(begun.length, 20);
    assert.equal(most, 3);
  });

  it('[T1] a rate limit', async () => {
    await open({ rateLimit: { max: 4, per: 200 } });
    const { begun } = await run(
      'rate',
      many(10, (n) => ({ n, ms: 0 })),
    );
    assert.equal(begun.length, 10);
    // By the engine's own record: a handler may come to it later.
    const attempts = (await eventsOf(holdfast.client, 'rate', 'AttemptStarted')).filter(({ fields }) =>
      String(fields.execution).startsWith('JobStep'),
    );
    assert.equal(attempts.length, 10);
    for (let i = 0; i + 4 < attempts.length; i += 4) {
      const apart = attempts[i + 4]!.at.getTime() - attempts[i]!.at.getTime();
      assert.ok(apart >= 198, `${i + 4} began ${apart} ms after ${i}`);
    }
  });

  it('[T1] priority, a path into the input', async () => {
    await open({ concurrency: 1, priority: 'urgency' });
    const { begun } = await run(
      'priority',
      many(9, (n) => ({ n, ms: 2, urgency: 3 - (n % 3) })),
    );
    assert.deepEqual(
      begun.map(({ n }) => n),
      [2, 5, 8, 1, 4, 7, 0, 3, 6],
    );
  });

  it('[T1] concurrency by key, a path into the input', async () => {
    await open({ concurrencyByKey: { key: 'tenant', limit: 2 } });
    const { most, mostOfTenant } = await run(
      'keys',
      many(18, (n) => ({ n, ms: 10, tenant: `t${n % 3}` })),
    );
    assert.equal(mostOfTenant, 2);
    assert.ok(most > 2, `tenants run beside each other: ${most}`);
  });

  it('[T2][T3] a slot comes free with a cancelled Flow, and the length of a queue can be read', async () => {
    await open({ concurrency: 1 });
    await holdfast.client.start(
      JobsFlow,
      'stuck',
      many(3, (n) => ({ n, ms: 5_000 })),
    );
    await eventually(() => {
      const queue = holdfast.queues.find(({ taskQueue }) => taskQueue === 'limited');
      assert.equal(queue?.waiting, 2);
      assert.equal(queue.running, 1);
      assert.equal(queue.policy?.concurrency, 1);
      assert.ok(queue.oldestAt! <= Date.now());
    });
    await holdfast.client.stop('stuck', 'cancel', 'no more');
    const { begun } = await run(
      'next',
      many(2, (n) => ({ n, ms: 1 })),
    );
    assert.equal(begun.length, 2);
  });
});

function many(count: number, make: (n: number) => Job): Job[] {
  return Array.from({ length: count }, (_, n) => make(n));
}
