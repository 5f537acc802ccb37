import assert from 'node:assert/strict';
import {
  Attribute,
  attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goToMany,
  gracefulComplete,
  Step,
  to,
  until,
} from '../../index';
import { MemoryFlowIndex } from '../../lib/search/memory-flow-index';
import { describeOnEveryStack, type System } from '../support/stacks';

@Attribute({ index: 'keyword' })
class Region extends DurableAttribute<string> {}

@Channel()
class News extends DurableChannel<string> {}

@Step({ name: 'Read' })
class ReadStep {
  constructor(private readonly news: News) {}

  waitFor() {
    return until(this.news.take(3));
  }

  execute() {
    return gracefulComplete(this.news.received());
  }
}

@Step({ name: 'Region' })
class RegionStep {
  constructor(private readonly region: Region) {}

  execute(region: string) {
    this.region.set(region);
    return goToMany(to(ReadStep), to(HeldStep));
  }
}

/** Waits for messages, queued or not, and has somewhere to go when it fails. */
@Step({ name: 'Held', onFailure: () => RecoverStep })
class HeldStep {
  constructor(private readonly news: News) {}

  waitFor() {
    return until(this.news.take(100));
  }

  execute() {
    return gracefulComplete();
  }
}

@Step({ name: 'Recover' })
class RecoverStep {
  execute() {
    return gracefulComplete();
  }
}

@Flow({ name: 'reader' })
class ReaderFlow {
  static readonly start = RegionStep;
  static readonly steps = [ReadStep, HeldStep, RecoverStep];
}

@Flow({ name: 'other' })
class OtherFlow {
  static readonly start = ReadStep;
}

const flows = [ReaderFlow, OtherFlow];

describeOnEveryStack('Batches over what a search finds', (stack) => {
  let system: System;
  beforeEach(async () => {
    system = await stack.open({ flows, index: new MemoryFlowIndex() });
    const { client } = system;
    await Promise.all(Array.from({ length: 30 }, (_, i) => client.start(ReaderFlow, `r${i}`, i < 20 ? 'eu' : 'us')));
    await client.start(OtherFlow, 'other');
    await Promise.all(Array.from({ length: 30 }, (_, i) => client.waitForStep(ReaderFlow, `r${i}`, RegionStep)));
  });

  const eu = { flow: ReaderFlow, where: [attribute(Region).equals('eu')] };

  it('[K1] [C85] stopWhere stops all that fit, which then show so everywhere, and counts them', async () => {
    const { client } = system;
    await client.stop('r3', 'terminate', 'before');
    const report = await client.stopWhere(eu, 'cancel', 'enough', { parallel: 7 });
    assert.deepEqual({ ...report, batchId: '' }, { batchId: '', matched: 19, done: 19, unchanged: 0, failed: [] });
    const { flows: cancelled } = await client.list({ status: 'cancelled' }, { fresh: true });
    assert.equal(cancelled.length, 19);
    for (const { flowId } of cancelled) assert.equal((await client.describe(flowId)).status, 'cancelled');
    const { flows: running } = await client.list({ status: 'running' });
    assert.equal(running.length, 11);
    assert.equal((await client.stopWhere(eu, 'cancel', 'enough')).matched, 0);
  });

  it('[K1] publishWhere reaches each once, however often the batch is repeated', async () => {
    const { client } = system;
    const options = { batchId: 'release-7' };
    const first = await client.publishWhere(ReaderFlow, { where: eu.where }, News, 'hello', options);
    assert.deepEqual({ ...first }, { batchId: 'release-7', matched: 20, done: 20, unchanged: 0, failed: [] });
    await system.crash();
    await client.publishWhere(ReaderFlow, { where: eu.where }, News, 'hello', options).catch(() => {});
    const again = await system.client.publishWhere(ReaderFlow, { where: eu.where }, News, 'hello', options);
    assert.equal(again.done, 20);
    const unread = async (flowId: string) =>
      (await system.client.describe(flowId)).unread.reduce((sum, { messages }) => sum + messages, 0);
    assert.equal(await unread('r0'), 1);
    assert.equal(await unread('r25'), 0);
    assert.equal(await unread('other'), 0);
  });

  it('[K1] says which Flows failed and why, and leaves runs alone that have begun since', async () => {
    const { client } = system;
    const batchId = 'twice';
    await client.publishWhere(ReaderFlow, { where: eu.where }, News, 'one', { batchId });
    const report = await client.publishWhere(ReaderFlow, { where: eu.where }, News, 'another', { batchId });
    assert.equal(report.done, 0);
    assert.equal(report.failed.length, 20);
    assert.equal(report.failed[0]!.error.code, 'ID_CONFLICT');

    // The index still shows the first run, while a second is open under the same flowId.
    const { flows: entries } = await client.list({ flowId: 'r1' }, { fresh: true });
    await client.stop('r1', 'cancel', 'first');
    await client.start(ReaderFlow, 'r1', 'eu', { idReuse: 'ifClosed' });
    const requests = (client as unknown as { requests: { index: MemoryFlowIndex } }).requests;
    const list = requests.index.list.bind(requests.index);
    requests.index.list = async (query) =>
      (await list(query)).map((run) => (run.flowId === 'r1' ? { ...run, ...only(entries[0]!) } : run));
    const stopped = await client.stopWhere({ flowId: 'r1' }, 'terminate', 'the first');
    requests.index.list = list;
    assert.deepEqual([stopped.matched, stopped.done, stopped.unchanged], [1, 0, 1]);
    assert.equal((await client.describe('r1')).status, 'running');
  });

  it('[K2] refuses what makes no sense', async () => {
    const { client } = system;
    await assert.rejects(client.stopWhere(eu, 'pause' as never, 'x'), { code: 'INVALID_ARGUMENT' });
    await assert.rejects(client.stopWhere(eu, 'cancel', 'x', { batchId: 'x'.repeat(401) }), { code: 'INVALID_ID' });
    await assert.rejects(client.stopWhere(eu, 'cancel', 'x', { parallel: 0 }), { code: 'INVALID_ARGUMENT' });
    await assert.rejects(client.publishWhere(OtherFlow, {}, class Foreign extends News {}, 'x'), {
      code: 'DEFINITION',
    });
  });
});

function only({ runId, chainId }: { runId: string; chainId: string }) {
  return { runId, chainId, status: 'running' };
}
