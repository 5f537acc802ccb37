import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  type RetryOptions,
  retryAfter,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, failureOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const attempts = new Log<number>();
const aborted = new Log<true>();
const gate = new Gate();
const hour = 3_600_000;

class FatalError extends Error {}

const policies: Record<string, RetryOptions> = {
  default: {},
  fast: { initialInterval: 1, coefficient: 1 },
  three: { initialInterval: 1, maximumAttempts: 3 },
  growing: { initialInterval: 100, coefficient: 3, maximumInterval: 1_000, maximumAttempts: 6 },
  'one hour': { initialInterval: '50m', totalDuration: '1h' },
  jitter: { initialInterval: 1_000, coefficient: 1, jitter: 0.5, maximumAttempts: 12 },
  nonRetryable: { initialInterval: 1, nonRetryable: [FatalError, 'TypeError'] },
};

interface Failing {
  readonly policy: string;
  /** Attempts that fail. */
  readonly failures: number;
  readonly fails?: 'FatalError' | 'TypeError' | 'retryAfter' | 'text' | 'nothing';
}

@Step({ name: 'Lead' })
class LeadStep {
  execute(input: Failing) {
    return goTo(FailStep, input).with({ retry: policies[input.policy]! });
  }
}

@Step({ name: 'Fail' })
class FailStep {
  execute(input: Failing, ctx: StepContext) {
    attempts.add(ctx.flowId, ctx.attempt);
    if (ctx.attempt > input.failures) return gracefulComplete(ctx.attempt);
    switch (input.fails) {
      case 'FatalError':
        throw new FatalError('fatal');
      case 'TypeError':
        throw new TypeError('typed');
      case 'retryAfter':
        throw retryAfter('30m', new RangeError('later'));
      case 'text':
        throw 'just a text';
      case 'nothing':
        throw undefined;
      default:
        throw new Error(`attempt ${ctx.attempt}`);
    }
  }
}

@Flow()
class FailFlow {
  static readonly start = LeadStep;
  static readonly steps = [FailStep];
}

@Attribute()
class Result extends DurableAttribute<string> {}

@Channel()
class Effects extends DurableChannel<string> {}

/** Its first attempt outlasts the timeout and returns later. */
@Step({ name: 'Slow', timeout: '10m', retry: { initialInterval: 1 } })
class SlowStep {
  constructor(
    private readonly result: Result,
    private readonly effects: Effects,
  ) {}
  async execute(_input: undefined, ctx: StepContext) {
    attempts.add(ctx.flowId, ctx.attempt);
    const key = `${ctx.flowId} ${ctx.attempt}`;
    ctx.signal.addEventListener('abort', () => aborted.add(key, true));
    this.result.set(`attempt ${ctx.attempt}`);
    this.effects.publish(`attempt ${ctx.attempt}`);
    await gate.pass(key);
    return goTo(AfterStep, ctx.attempt);
  }
}

@Step({ name: 'After' })
class AfterStep {
  execute(attempt: number) {
    return gracefulComplete(attempt);
  }
}

@Flow()
class SlowFlow {
  static readonly start = SlowStep;
  static readonly steps = [AfterStep];
}

@Step({ name: 'Watch', retry: { initialInterval: 1, maximumAttempts: 2 } })
class WatchStep {
  constructor(private readonly result: Result) {}
  waitFor(_policy: 'fail' | 'proceed', ctx: StepContext) {
    attempts.add(ctx.flowId, ctx.attempt);
    this.result.set('by waitFor');
    ctx.locals.set('local', 1);
    if (ctx.flowId.startsWith('watch')) throw new RangeError('no wait today');
    return until(null as never);
  }
  execute(_policy: 'fail' | 'proceed', ctx: StepContext) {
    const { name, message } = ctx.waitFailed ?? {};
    return gracefulComplete([name, message, this.result.get() ?? null, ctx.locals.get('local') ?? null, ctx.attempt]);
  }
}

@Step({ name: 'Choose' })
class ChooseStep {
  execute(policy: 'fail' | 'proceed') {
    return goTo(WatchStep, policy).with({ onWaitForFailure: policy });
  }
}

@Flow()
class WatchFlow {
  static readonly start = WatchStep;
}

@Flow()
class ChooseFlow {
  static readonly start = ChooseStep;
  static readonly steps = [WatchStep];
}

@Step({ name: 'Book', retry: { initialInterval: 1, maximumAttempts: 3 }, onFailure: () => RefundStep })
class BookStep {
  constructor(private readonly result: Result) {}
  execute(trip: { readonly id: string }, ctx: StepContext): never {
    this.result.set('never');
    attempts.add(ctx.flowId, ctx.attempt);
    throw new RangeError(`no seat for ${trip.id}`);
  }
}

@Step({ name: 'Refund', retry: { initialInterval: 1 } })
class RefundStep {
  constructor(private readonly result: Result) {}
  async execute(trip: { readonly id: string }, ctx: StepContext) {
    const { stepExecutionId, failure, attempts: used, progress } = ctx.recovery!;
    if (ctx.attempt === 1) throw new Error('even the recovery may fail once');
    await gate.pass(ctx.flowId);
    const { name, message } = failure;
    return gracefulComplete({
      me: ctx.stepExecutionId,
      trip,
      recovers: [stepExecutionId, name, message, used, progress],
      kept: this.result.get() ?? null,
    });
  }
}

@Flow()
class TripFlow {
  static readonly start = BookStep;
  static readonly steps = [RefundStep];
}

@Step({ name: 'Trips' })
class TripsStep {
  execute(ids: string[]) {
    return goToMany(ids.map((id) => to(BookStep, { id })));
  }
}

@Flow()
class TripsFlow {
  static readonly start = TripsStep;
  static readonly steps = [BookStep, RefundStep];
}

const flows = [FailFlow, SlowFlow, WatchFlow, ChooseFlow, TripFlow, TripsFlow];

describeOnEveryStack('Retry', flows, (stack) => {
  const system = stack.shared({ flows });

  const start = async (input: Failing) => {
    const flowId = fresh('fail');
    await system.client.start(FailFlow, flowId, input);
    return flowId;
  };
  const delays = async (flowId: string) =>
    (await eventsOf(system.client, flowId, 'AttemptFailed')).map(({ at, fields }) =>
      fields.retryAt === null ? null : (fields.retryAt as number) - at.getTime(),
    );
  // A short delay may be over before anybody looks.
  const backingOff = (flowId: string, attempt: number) =>
    eventually(async () => {
      const [step] = (await system.client.describe(flowId)).steps;
      return step === undefined || step.attempt > attempt || (step.attempt === attempt && step.state === 'backoff');
    });

  it('[X1] by default 1 s, doubled up to 100 s, without a limit of attempts', async () => {
    const flowId = await start({ policy: 'default', failures: 12 });
    const expected = [1, 2, 4, 8, 16, 32, 64, 100, 100, 100, 100, 100].map((seconds) => seconds * 1_000);
    for (const [i, delay] of expected.entries()) {
      await backingOff(flowId, i + 1);
      await system.advance(delay + 1);
    }
    assert.equal(await system.client.result(FailFlow, flowId), 13);
    assert.deepEqual(await delays(flowId), expected);
  });

  it('[X1] interval, coefficient, maximum interval and maximum attempts are the policy’s', async () => {
    const flowId = await start({ policy: 'growing', failures: 99 });
    for (let attempt = 1; attempt < 6; attempt++) {
      await backingOff(flowId, attempt);
      await system.advance(1_001);
    }
    const error = await failureOf(system.client, FailFlow, flowId);
    assert.equal(error.failKind, 'worker');
    assert.match(error.message, /attempt 6/);
    assert.deepEqual(await delays(flowId), [100, 300, 900, 1_000, 1_000, null]);
    assert.deepEqual(attempts.of(flowId), [1, 2, 3, 4, 5, 6]);
  });

  it('[X1] no attempt starts after the total duration, by default 4 h from the first hand-out', async () => {
    const limited = await start({ policy: 'one hour', failures: 99 });
    await backingOff(limited, 1);
    await system.advance(50 * 60_000 + 1_000);
    const error = await failureOf(system.client, FailFlow, limited);
    assert.match(error.message, /attempt 2/);
    const byDefault = await start({ policy: 'default', failures: 99, fails: 'retryAfter' });
    for (let attempt = 1; attempt <= 7; attempt++) {
      await backingOff(byDefault, attempt);
      await system.advance(hour / 2 + 10);
    }
    assert.match((await failureOf(system.client, FailFlow, byDefault)).message, /later/);
    assert.equal(attempts.of(byDefault).length, 8);
  });

  it('[X1] the total duration never interrupts an attempt', async () => {
    const flowId = fresh('slow');
    await system.client.start(SlowFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} 1`) === 1);
    await system.advance(9 * 60_000);
    gate.open(`${flowId} 1`);
    assert.equal(await system.client.result(SlowFlow, flowId), 1);
  });

  it('[X1] jitter shortens each delay by up to its share, and differently', async () => {
    const flowId = await start({ policy: 'jitter', failures: 99 });
    for (let attempt = 1; attempt < 12; attempt++) {
      await backingOff(flowId, attempt);
      await system.advance(1_001);
    }
    await failureOf(system.client, FailFlow, flowId);
    const drawn = (await delays(flowId)).slice(0, -1) as number[];
    for (const delay of drawn) assert.ok(delay >= 500 && delay <= 1_000, `${delay}`);
    assert.ok(new Set(drawn).size > 5, `${drawn}`);
  });

  for (const fails of ['FatalError', 'TypeError'] as const) {
    it(`[X1] an error type that the policy names ends the call at once: ${fails}`, async () => {
      const flowId = await start({ policy: 'nonRetryable', failures: 99, fails });
      assert.equal((await failureOf(system.client, FailFlow, flowId)).failKind, 'worker');
      assert.deepEqual(attempts.of(flowId), [1]);
    });
  }

  it('[X1] other errors are tried again, whatever was thrown', async () => {
    for (const fails of ['text', 'nothing', undefined] as const) {
      const flowId = await start({ policy: 'fast', failures: 2, ...(fails && { fails }) });
      assert.equal(await system.client.result(FailFlow, flowId), 3);
    }
  });

  it('[X1] retryAfter sets the next delay, and its cause is the failure', async () => {
    const flowId = await start({ policy: 'three', failures: 2, fails: 'retryAfter' });
    for (let attempt = 1; attempt < 3; attempt++) {
      await backingOff(flowId, attempt);
      await system.advance(29 * 60_000);
      assert.equal(attempts.of(flowId).length, attempt);
      await system.advance(61_000);
    }
    assert.equal(await system.client.result(FailFlow, flowId), 3);
    const [failed] = await eventsOf(system.client, flowId, 'AttemptFailed');
    assert.equal((failed!.fields.failure as { name: string }).name, 'RangeError');
    assert.deepEqual(await delays(flowId), [hour / 2, hour / 2]);
  });

  it('[X4] every hand-out has a token of its own', async () => {
    const flowId = await start({ policy: 'fast', failures: 4 });
    await system.client.result(FailFlow, flowId);
    const started = await eventsOf(system.client, flowId, 'AttemptStarted');
    assert.equal(new Set(started.map(({ fields }) => fields.token)).size, 6);
  });

  it('[X4] the result of a superseded attempt is discarded whole, and the worker is told', async () => {
    const flowId = fresh('slow');
    await system.client.start(SlowFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} 1`) === 1);
    await system.advance(601_000);
    await eventually(() => gate.arrived(`${flowId} 2`) === 1);
    await eventually(() => aborted.of(`${flowId} 1`).length > 0);
    assert.deepEqual(aborted.of(`${flowId} 2`), []);
    gate.open(`${flowId} 1`);
    // By now the late result has been seen, because this Flow went through the same worker and engine after it.
    await system.client.result(FailFlow, await start({ policy: 'fast', failures: 0 }));
    assert.deepEqual(await stepStates(system.client, flowId), { 'Slow-1': 'running' });
    assert.equal((await system.client.attributes(SlowFlow, flowId)).get(Result), undefined);
    gate.open(`${flowId} 2`);
    assert.equal(await system.client.result(SlowFlow, flowId), 2);
    assert.equal((await system.client.attributes(SlowFlow, flowId)).get(Result), 'attempt 2');
    assert.deepEqual((await system.client.describe(flowId)).unread, [
      { channel: 'Effects', key: undefined, messages: 1 },
    ]);
    assert.deepEqual(attempts.of(flowId), [1, 2]);
  });

  it('[X4] the result of an attempt whose run was closed, or replaced by another run, is discarded', async () => {
    const flowId = fresh('slow');
    await system.client.start(SlowFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} 1`) === 1);
    const second = await system.client.start(SlowFlow, flowId, undefined, { idReuse: 'terminateRunning' });
    await eventually(() => gate.arrived(`${flowId} 1`) === 2);
    await system.client.stop(flowId, 'cancel', 'enough');
    await eventually(() => aborted.of(`${flowId} 1`).length > 0);
    gate.open(`${flowId} 1`);
    await system.client.result(FailFlow, await start({ policy: 'fast', failures: 0 }));
    const description = await system.client.describe(flowId);
    assert.deepEqual([description.runId, description.status], [second.runId, 'cancelled']);
    assert.deepEqual(description.unread, []);
    assert.equal((await eventKinds(system.client, flowId)).includes('ExecuteCompleted'), false);
  });

  it('[X7] when waitFor has used up its attempts the Flow fails', async () => {
    const flowId = fresh('watch');
    await system.client.start(WatchFlow, flowId, 'fail');
    const error = await failureOf(system.client, WatchFlow, flowId);
    assert.deepEqual([error.failKind, (error.cause as Error).name], ['worker', 'RangeError']);
    assert.deepEqual(attempts.of(flowId), [1, 2]);
  });

  it('[X7] or execute runs and sees why, if the policy is to proceed', async () => {
    const flowId = fresh('watch');
    await system.client.start(ChooseFlow, flowId, 'proceed');
    assert.deepEqual(await system.client.result(ChooseFlow, flowId), ['RangeError', 'no wait today', null, null, 1]);
    const defined = fresh('wrong');
    await system.client.start(ChooseFlow, defined, 'proceed');
    assert.equal(((await system.client.result(ChooseFlow, defined)) as unknown[])[0], 'DefinitionError');
    assert.deepEqual(attempts.of(defined), [1]);
  });

  it('[X8] when execute has used up its attempts the Flow fails, without a recovery Step', async () => {
    const flowId = await start({ policy: 'three', failures: 99 });
    const error = await failureOf(system.client, FailFlow, flowId);
    assert.deepEqual([error.failKind, (error.cause as Error).message], ['worker', 'attempt 3']);
    const [failed] = await eventsOf(system.client, flowId, 'StepFailed');
    assert.deepEqual([failed!.fields.execution, failed!.fields.attempts], ['Fail-1', 3]);
  });

  it('[X8] or goes to the recovery Step, once, with the same input and what has failed', async () => {
    const flowId = fresh('trip');
    gate.open(flowId);
    await system.client.start(TripFlow, flowId, { id: 'T1' });
    assert.deepEqual(await system.client.result(TripFlow, flowId), {
      me: 'Refund-1',
      trip: { id: 'T1' },
      recovers: ['Book-1', 'RangeError', 'no seat for T1', 3, 'NOT_COMPLETED'],
      kept: null,
    });
    assert.deepEqual(attempts.of(flowId), [1, 2, 3]);
    assert.deepEqual((await system.client.describe(flowId)).scheduled, { Book: 1, Refund: 1 });
  });

  it('[X8] each failed execution starts one recovery', async () => {
    const flowId = fresh('trips');
    gate.open(flowId);
    await system.client.start(TripsFlow, flowId, ['a', 'b', 'c']);
    const outputs = await system.client.outputs(TripsFlow, flowId);
    const recovered = outputs.map(({ value }) => (value as { recovers: string[] }).recovers.slice(0, 3).join(' '));
    assert.deepEqual(recovered.sort(), [
      'Book-1 RangeError no seat for a',
      'Book-2 RangeError no seat for b',
      'Book-3 RangeError no seat for c',
    ]);
  });

  it('[X12] with no worker a task waits in its queue and nothing fails', async () => {
    const own = await stack.open({ flows, slots: 0 });
    const flowId = fresh('fail');
    await own.client.start(FailFlow, flowId, { policy: 'fast', failures: 0 });
    await own.advance(48 * hour);
    await own.crash();
    await own.advance(48 * hour);
    assert.deepEqual(await stepStates(own.client, flowId), { 'Lead-1': 'ready' });
    assert.deepEqual(await eventKinds(own.client, flowId), ['FlowStarted', 'StepScheduled']);
    await own.crash({ slots: 1 });
    assert.equal(await own.client.result(FailFlow, flowId), 1);
    assert.deepEqual(attempts.of(flowId), [1]);
  });
});

describeOnEveryStack('Retry over a crash', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[X1] back-off is durable: it goes on, and does not start over', async () => {
    const flowId = fresh('fail');
    await system.client.start(FailFlow, flowId, { policy: 'one hour', failures: 1 });
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), { 'Fail-1': 'backoff' }));
    const before = await system.client.describe(flowId);
    await system.advance(25 * 60_000);
    await system.crash();
    assert.deepEqual((await system.client.describe(flowId)).steps, before.steps);
    await system.advance(24 * 60_000);
    assert.equal(attempts.of(flowId).length, 1);
    await system.advance(61_000);
    assert.equal(await system.client.result(FailFlow, flowId), 2);
  });

  it('[X4] the result of a worker that was lost with its engine is discarded', async () => {
    const flowId = fresh('slow');
    await system.client.start(SlowFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} 1`) === 1);
    await system.crash();
    await eventually(() => gate.arrived(`${flowId} 2`) === 1);
    gate.open(`${flowId} 1`);
    gate.open(`${flowId} 2`);
    assert.equal(await system.client.result(SlowFlow, flowId), 2);
    assert.equal((await system.client.attributes(SlowFlow, flowId)).get(Result), 'attempt 2');
  });

  it('[X8] a recovery that has begun goes on, and none begins again', async () => {
    const flowId = fresh('trip');
    await system.client.start(TripFlow, flowId, { id: 'T1' });
    await eventually(() => gate.arrived(flowId) === 1);
    await system.crash();
    gate.open(flowId);
    const output = (await system.client.result(TripFlow, flowId)) as { me: string; recovers: unknown[] };
    assert.deepEqual([output.me, output.recovers[0]], ['Refund-1', 'Book-1']);
    assert.deepEqual((await system.client.describe(flowId)).scheduled, { Book: 1, Refund: 1 });
  });
});
