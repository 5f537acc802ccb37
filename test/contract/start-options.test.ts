import assert from 'node:assert/strict';
import {
  anyOf,
  Channel,
  DurableChannel,
  Flow,
  forceFail,
  goTo,
  gracefulComplete,
  HoldfastError,
  Step,
  type StepContext,
  Timer,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, refuses, stepStates } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const log = new Log();
const day = 86_400_000;

@Channel()
class Words extends DurableChannel<string> {}

@Step({ name: 'Read' })
class ReadStep {
  constructor(private readonly words: Words) {}
  waitFor(_input: string | undefined) {
    return anyOf(this.words.take(1), Timer.after('3650d', 'late'));
  }
  execute(input: string | undefined, ctx: StepContext) {
    const [word] = this.words.received();
    log.add(ctx.flowId, `${input} ${word}`);
    if (word === 'complete') return gracefulComplete(word);
    if (word === 'fail') return forceFail(word);
    return goTo(ReadStep, input);
  }
}

@Flow({ timeout: '30d' })
class ReadFlow {
  static readonly start = ReadStep;
}

const flows = [ReadFlow];
const ends = ['completed', 'failed', 'cancelled', 'terminated', 'timed out', 'running'] as const;
const allowed: Record<string, readonly string[]> = {
  reject: [],
  ifPreviousFailed: ['failed', 'cancelled', 'terminated', 'timed out'],
  ifClosed: ['completed', 'failed', 'cancelled', 'terminated', 'timed out'],
  terminateRunning: ends,
};

describeOnEveryStack('Start options', flows, (stack) => {
  const system = stack.shared({ flows });
  const publish = (flowId: string, word: string) => system.client.publish(ReadFlow, flowId, Words, word);

  const ended = async (end: (typeof ends)[number]) => {
    const flowId = fresh('reuse');
    const { client } = system;
    const { runId } = await client.start(ReadFlow, flowId, 'first', end === 'timed out' ? { timeout: '1s' } : {});
    if (end === 'completed') await publish(flowId, 'complete');
    if (end === 'failed') await publish(flowId, 'fail');
    if (end === 'cancelled') await client.stop(flowId, 'cancel', 'enough');
    if (end === 'terminated') await client.stop(flowId, 'terminate', 'enough');
    if (end === 'timed out') await system.advance(2_000);
    if (end !== 'running') await client.result(ReadFlow, flowId, { throwOnFailure: false });
    return { flowId, runId };
  };

  for (const idReuse of ['reject', 'ifPreviousFailed', 'ifClosed', 'terminateRunning'] as const) {
    it(`[F4] ${idReuse}: a used flowId may be used again after ${allowed[idReuse]!.join(', ') || 'nothing'}`, async () => {
      for (const end of ends) {
        const { flowId, runId } = await ended(end);
        const start = (requestId: string) => system.client.start(ReadFlow, flowId, 'second', { idReuse, requestId });
        if (!allowed[idReuse]!.includes(end)) {
          await refuses(start('again'), 'FLOW_ALREADY_EXISTS', new RegExp(`'${idReuse}'`));
          continue;
        }
        const again = await start('again');
        assert.notEqual(again.runId, runId);
        // [F5] A repeat is answered before the policy is looked at.
        assert.deepEqual(await start('again'), again);
        if (end === 'running') {
          assert.equal((await system.client.describe(flowId, { runId })).status, 'terminated');
        }
        await publish(flowId, 'complete');
        assert.equal(await system.client.result(ReadFlow, flowId), 'complete');
        assert.deepEqual(log.of(flowId).slice(-1), ['second complete']);
      }
    });
  }

  it('[F4] an unknown policy is refused, reject is the default, and a fresh id suits all', async () => {
    const { flowId } = await ended('cancelled');
    await refuses(system.client.start(ReadFlow, flowId), 'FLOW_ALREADY_EXISTS');
    await refuses(system.client.start(ReadFlow, flowId, 'x', { idReuse: 'never' as never }), 'INVALID_ARGUMENT');
    for (const idReuse of ['ifPreviousFailed', 'ifClosed', 'terminateRunning'] as const) {
      await system.client.start(ReadFlow, fresh('reuse'), 'x', { idReuse });
    }
  });

  it('[F6] a delayed start is accepted now and runs its first Step later, over crashes', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('delay');
    const { runId } = await own.client.start(ReadFlow, flowId, 'x', { startDelay: '2d' });
    const states = () => stepStates(own.client, flowId);
    assert.equal((await own.client.describe(flowId)).runId, runId);
    assert.deepEqual(await states(), { 'Read-1': 'delayed' });
    await own.client.publish(ReadFlow, flowId, Words, 'complete');
    await own.advance(day);
    await own.crash();
    await own.advance(day - 60_000);
    assert.deepEqual(await states(), { 'Read-1': 'delayed' });
    assert.equal((await eventsOf(own.client, flowId, 'AttemptStarted')).length, 0);
    await own.advance(61_000);
    assert.equal(await own.client.result(ReadFlow, flowId), 'complete');
    await refuses(own.client.start(ReadFlow, fresh('delay'), 'x', { startDelay: -1 }), 'INVALID_DURATION');
  });

  it('[F6] a delayed Flow can be stopped before it began', async () => {
    const flowId = fresh('delay');
    await system.client.start(ReadFlow, flowId, 'x', { startDelay: '2d' });
    assert.deepEqual(await system.client.stop(flowId, 'cancel', 'not needed'), { status: 'cancelled' });
    await system.advance(3 * day);
    assert.deepEqual(log.of(flowId), []);
  });

  it('[F9] settings are the class’s, a start’s, or changed while running for what is scheduled later', async () => {
    const flowId = fresh('config');
    const { client } = system;
    await client.start(ReadFlow, flowId, 'x');
    await eventually(async () => assert.deepEqual(await stepStates(client, flowId), { 'Read-1': 'waiting' }));
    const config = async () => (await client.describe(flowId)).config;
    assert.equal((await config()).durability, 'SYNC');
    await client.updateConfig(flowId, { durability: 'ASYNC' }, { requestId: 'c' });
    assert.deepEqual(await config(), { ...(await config()), durability: 'ASYNC', retentionMs: 7 * day });
    await publish(flowId, 'a');
    await client.waitForStep(ReadFlow, flowId, ReadStep);
    await client.updateConfig(flowId, { durability: 'SYNC', retention: '1d' });
    // A repeat changes nothing.
    await client.updateConfig(flowId, { durability: 'ASYNC' }, { requestId: 'c' });
    assert.deepEqual([(await config()).durability, (await config()).retentionMs], ['SYNC', day]);
    await publish(flowId, 'complete');
    await client.result(ReadFlow, flowId);
    const modes = (await eventsOf(client, flowId, 'AttemptStarted')).map(
      ({ fields }) => `${fields.execution} ${fields.method} ${fields.durability}`,
    );
    assert.deepEqual(modes.slice(0, 2), ['Read-1 waitFor SYNC', 'Read-1 execute ASYNC']);
    assert.deepEqual(modes.at(-1), 'Read-2 execute SYNC');
    await refuses(client.updateConfig(flowId, { durability: 'ASYNC' }), 'FLOW_NOT_ACTIVE');
    await refuses(client.updateConfig(fresh('config'), {}), 'FLOW_NOT_FOUND');
    await refuses(client.updateConfig(flowId, { durability: 'maybe' as never }), 'INVALID_ARGUMENT');
  });

  it('[C3] a publish is acknowledged when it is durable, keeps the order of its batch, and is stored once per id', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('publish');
    await own.client.start(ReadFlow, flowId, 'x');
    const words = Array.from({ length: 100 }, (_, i) => `w${i}`);
    const batch = () =>
      own.client.publishAll(
        ReadFlow,
        flowId,
        words.map((value) => ({ channel: Words, value, messageId: value })),
      );
    await batch();
    await own.crash();
    await batch();
    await own.client.publish(ReadFlow, flowId, Words, 'complete');
    await own.client.result(ReadFlow, flowId);
    assert.equal((await eventsOf(own.client, flowId, 'MessagePublished')).length, 101);
    // The attempt that was lost with the engine ran again.
    assert.deepEqual(
      [...new Set(log.of(flowId))],
      [...words, 'complete'].map((word) => `x ${word}`),
    );
  });

  it('[K2] errors are typed: a stable code, what happened, what to do', async () => {
    const error = await refuses(system.client.describe(fresh('none')), 'FLOW_NOT_FOUND', /none-/);
    assert.ok(error instanceof HoldfastError);
    assert.deepEqual([error.name, error.kind, error.fix.length > 0], ['FlowNotFoundError', 'rejected', true]);
  });

  it('[W7] skipTimer makes a pending timer count as fired, once', async () => {
    const flowId = fresh('skip');
    const { client } = system;
    await client.start(ReadFlow, flowId, 'x');
    await eventually(async () => assert.deepEqual(await stepStates(client, flowId), { 'Read-1': 'waiting' }));
    await refuses(client.skipTimer(flowId, 'Read-1', 'other'), 'STEP_NOT_FOUND');
    await client.skipTimer(flowId, 'Read-1', 'late', { requestId: 's' });
    await client.skipTimer(flowId, 'Read-1', 'late', { requestId: 's' });
    await client.waitForStep(ReadFlow, flowId, ReadStep);
    assert.deepEqual(log.of(flowId), ['x undefined']);
    assert.equal((await eventsOf(client, flowId, 'TimerSkipped')).length, 1);
    await refuses(client.skipTimer(flowId, 'Read-1', 'late'), 'STEP_NOT_FOUND');
  });
});
