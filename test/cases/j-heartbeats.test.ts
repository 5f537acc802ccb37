import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Flow, gracefulComplete, Holdfast, Step, type StepContext } from '../../index';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { TestEnvironment } from '../../lib/testing';
import { eventually } from '../support/eventually';
import { eventKinds } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';

const resumed = new Log<unknown>();
const gate = new Gate();

@Step({ name: 'Long', timeout: '10m', retry: { initialInterval: 1 } })
class LongStep {
  async execute(how: string, ctx: StepContext) {
    if (ctx.attempt > 1 || ctx.lastHeartbeat !== undefined) {
      resumed.add(ctx.flowId, ctx.lastHeartbeat);
      return gracefulComplete();
    }
    for (let done = 1; done <= 1_000; done++) ctx.heartbeat(done);
    if (how === 'throw') throw new Error('at 1000');
    await Promise.race([gate.pass(ctx.flowId), once(ctx.signal, 'abort')]);
    if (ctx.signal.aborted) throw ctx.signal.reason;
    return gracefulComplete();
  }
}

@Flow()
class LongFlow {
  static readonly start = LongStep;
}

describe('Heartbeats and long Steps', () => {
  let env: TestEnvironment;
  beforeEach(async () => {
    env = await TestEnvironment.open({ flows: [LongFlow] });
  });
  afterEach(() => env.close());

  it('[C37] the retry after a throw sees the newest progress, also what was throttled', async () => {
    const flowId = fresh('long');
    await env.client.start(LongFlow, flowId, 'throw');
    await env.advance('1m');
    assert.deepEqual(resumed.of(flowId), [1_000]);
  });

  it('[C37] so does the retry after a timeout', async () => {
    const flowId = fresh('long');
    await env.client.start(LongFlow, flowId, 'hang');
    await env.advance('11m', { whileRunning: true });
    assert.deepEqual(resumed.of(flowId), [1_000]);
    gate.open(flowId);
  });

  it('[C37] and what a worker that closes gave back, which uses up no attempt', async () => {
    const flowId = fresh('long');
    const options = { flows: [LongFlow], store: new MemoryStateStore(), grace: 0 };
    const first = await Holdfast.open(options);
    await first.client.start(LongFlow, flowId, 'hang');
    await eventually(() => assert.equal(gate.arrived(flowId), 1));
    await first.close();
    const second = await Holdfast.open(options);
    await second.client.result(LongFlow, flowId);
    assert.deepEqual(resumed.of(flowId), [1_000]);
    const kinds = await eventKinds(second.client, flowId);
    assert.deepEqual([kinds.includes('AttemptReturned'), kinds.includes('AttemptFailed')], [true, false]);
    await second.close();
  });
});
