import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  continueAsNew,
  type Decision,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goToMany,
  gracefulComplete,
  Lock,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute(Lock.exclusive)
class Locked extends DurableAttribute<string> {}

@Attribute()
class Noted extends DurableAttribute<string> {}

@Channel()
class Mail extends DurableChannel<string> {}

type Mode = 'open' | 'continue' | 'cancelling' | 'continued';

/** Begins everything that can be open; continues when it is told to. */
@Step({ name: 'Boss' })
class BossStep {
  execute(mode: Mode) {
    if (mode === 'continued') return deadEnd();
    return goToMany(
      ...[to(AskedStep), to(RunStep), to(SleepStep), to(MailStep), to(RetryStep)],
      ...[to(HoldStep, 'first'), to(HoldStep, 'second')],
    );
  }
}

@Step({ name: 'Asked' })
class AskedStep {
  async execute(_input: undefined, ctx: StepContext): Promise<Decision> {
    await gate.pass(`${ctx.flowId} continue`);
    const next = continueAsNew(OpenFlow, 'continued');
    return ctx.flowId.startsWith('cancelling') ? next.cancelling(SleepStep, RunStep, HoldStep) : next;
  }
}

@Step({ name: 'Run' })
class RunStep {
  constructor(private readonly noted: Noted) {}
  async execute(_input: undefined, ctx: StepContext) {
    ctx.signal.addEventListener('abort', () => log.add(ctx.flowId, 'run aborted'));
    const before = this.noted.get();
    await gate.pass(`${ctx.flowId} run`);
    this.noted.set(`${before} then run`);
    log.add(ctx.flowId, `run ${ctx.attempt} ${ctx.idempotencyKey.endsWith('/Run-1/execute')}`);
    return deadEnd();
  }
}

@Step({ name: 'Sleep' })
class SleepStep {
  waitFor() {
    return until(Timer.after('1h'));
  }
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, 'slept');
    return deadEnd();
  }
}

@Step({ name: 'Mail' })
class MailStep {
  constructor(private readonly mail: Mail) {}
  waitFor() {
    return until(this.mail.take(2));
  }
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, `mail ${this.mail.received()}`);
    return deadEnd();
  }
}

@Step({ name: 'Retry', retry: { initialInterval: '10m', maximumAttempts: 2 } })
class RetryStep {
  execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, `attempt ${ctx.attempt}`);
    if (ctx.attempt === 1) throw new Error('again');
    return gracefulComplete('retried');
  }
}

@Step({ name: 'Hold' })
class HoldStep {
  constructor(private readonly locked: Locked) {}
  async execute(name: string, ctx: StepContext) {
    const before = this.locked.get();
    log.add(ctx.flowId, `hold ${name}`);
    await gate.pass(`${ctx.flowId} hold ${name}`);
    this.locked.set(before === undefined ? name : `${before} ${name}`);
    return deadEnd();
  }
}

@Flow()
class OpenFlow {
  static readonly start = BossStep;
  static readonly steps = [AskedStep, RunStep, SleepStep, MailStep, RetryStep, HoldStep];
  constructor(
    private readonly locked: Locked,
    private readonly noted: Noted,
  ) {}

  @Rpc()
  async note(text: string, ctx: RpcContext) {
    await gate.pass(`${ctx.flowId} ${text}`);
    this.noted.set(text);
    return text;
  }

  @Rpc({ locks: [Locked] })
  append(name: string, ctx: RpcContext) {
    log.add(ctx.flowId, `append ${name}`);
    this.locked.set(`${this.locked.get()} ${name}`);
    return this.locked.get();
  }

  @Rpc()
  hold(name: string, ctx: RpcContext) {
    ctx.start(HoldStep, name);
  }
}

const flows = [OpenFlow];

describeOnEveryStack('Continue-as-new with everything open', flows, (stack) => {
  const system = stack.shared({ flows });

  const open = async (name: string, on: System = system) => {
    const flowId = fresh(name);
    const { runId } = await on.client.start(OpenFlow, flowId, 'open', { timeout: '30d', durability: 'SYNC' });
    await eventually(async () =>
      assert.deepEqual(await stepStates(on.client, flowId), {
        ...{ 'Asked-1': 'running', 'Run-1': 'running', 'Sleep-1': 'waiting', 'Mail-1': 'waiting' },
        ...{ 'Retry-1': 'backoff', 'Hold-1': 'running', 'Hold-2': 'locked' },
      }),
    );
    await on.client.publish(OpenFlow, flowId, Mail, 'one');
    return { flowId, runId, rpc: on.client.rpc(OpenFlow, flowId) };
  };
  const goOn = async (flowId: string, runId: string, on: System = system) => {
    gate.open(`${flowId} continue`);
    await eventually(async () => {
      const run = await on.client.describe(flowId);
      assert.notEqual(run.runId, runId);
      assert.equal(run.scheduled.Boss, 2);
      assert.ok(!run.steps.some(({ step }) => step === 'Boss'));
    });
  };

  for (const crash of [false, true]) {
    it(`[N2] running, waiting, locked and retrying executions go along as they are${crash ? ', over a crash' : ''}`, async () => {
      const own = crash ? await stack.open({ flows }) : system;
      const { flowId, runId } = await open('open', own);
      const before = await own.client.describe(flowId);
      await goOn(flowId, runId, own);
      const after = await own.client.describe(flowId);
      assert.deepEqual(
        after.steps,
        before.steps.filter(({ step }) => step !== 'Asked'),
      );
      assert.deepEqual(
        [after.deadlineAt, after.config, after.unread],
        [before.deadlineAt, before.config, before.unread],
      );
      assert.deepEqual(after.locks, before.locks);
      assert.ok(after.events < 10);
      if (crash) await own.crash();
      for (const name of ['run', 'hold first', 'hold second']) gate.open(`${flowId} ${name}`);
      await own.client.publish(OpenFlow, flowId, Mail, 'two');
      await eventually(async () => {
        const states = await stepStates(own.client, flowId);
        // A worker that was lost with its engine has used up an attempt.
        if (states['Run-1'] === 'backoff' || states['Hold-1'] === 'backoff') await own.advance(1_000);
        assert.deepEqual(states, { 'Sleep-1': 'waiting', 'Retry-1': 'backoff' });
      });
      await own.advance(600_000);
      await own.client.waitForStep(OpenFlow, flowId, RetryStep);
      assert.equal((await own.client.describe(flowId)).completing, true);
      await own.advance(3_000_000);
      assert.equal(await own.client.result(OpenFlow, flowId, { runId }), 'retried');
      assert.equal((await own.client.attributes(OpenFlow, flowId)).get(Locked), 'first second');
      const told = log.of(flowId);
      for (const once of ['mail one,two', 'slept', 'attempt 1', 'attempt 2'])
        assert.equal(log.count(flowId, once), 1, once);
      if (!crash) assert.equal(told.filter((entry) => entry.startsWith('run')).join(), 'run 1 true');
      assert.equal((await eventsOf(own.client, flowId, 'AttemptFailed')).length, crash ? 2 : 0);
    });
  }

  it('[N2] [D7] cancelling drops what shall not go along, in the same write', async () => {
    const { flowId, runId } = await open('cancelling');
    await goOn(flowId, runId);
    assert.deepEqual(await stepStates(system.client, flowId), { 'Mail-1': 'waiting', 'Retry-1': 'backoff' });
    await eventually(() => log.of(flowId).includes('run aborted'));
    assert.deepEqual((await system.client.describe(flowId)).locks, []);
    for (const name of ['run', 'hold first', 'hold second']) gate.open(`${flowId} ${name}`);
    const kinds = (await system.client.history(flowId, { runId })).map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(-6), ['ExecuteCompleted', ...Array(4).fill('StepCancelled'), 'FlowClosed']);
  });

  it('[N2] started RPCs go along: they are answered, and write into the run that there is then', async () => {
    const { flowId, runId, rpc } = await open('open');
    const noting = rpc.note('a note');
    await eventually(() => gate.arrived(`${flowId} a note`) === 1);
    await goOn(flowId, runId);
    gate.open(`${flowId} a note`);
    assert.equal(await noting, 'a note');
    assert.equal((await system.client.attributes(OpenFlow, flowId)).get(Noted), 'a note');
    assert.equal((await eventsOf(system.client, flowId, 'RpcCompleted')).length, 1);
    assert.equal((await system.client.attributes(OpenFlow, flowId, { runId })).get(Noted), undefined);
    await system.client.stop(flowId, 'terminate', 'enough');
  });

  it('[N2] [L2] RPCs that wait for a lock keep their place among the Steps', async () => {
    const { flowId, runId, rpc } = await open('open');
    const appended = rpc.append('rpc');
    await eventually(async () => {
      const [lock] = (await system.client.describe(flowId)).locks;
      assert.equal(lock!.waiting.length, 2);
    });
    await rpc.hold('third');
    await eventually(async () => assert.equal((await stepStates(system.client, flowId))['Hold-3'], 'locked'));
    await goOn(flowId, runId);
    for (const name of ['first', 'second', 'third']) gate.open(`${flowId} hold ${name}`);
    assert.equal(await appended, 'first second rpc');
    await system.client.waitForStep(OpenFlow, flowId, HoldStep, { number: 3 });
    assert.equal((await system.client.attributes(OpenFlow, flowId)).get(Locked), 'first second rpc third');
    await system.client.stop(flowId, 'terminate', 'enough');
  });

  it('[N2] [F5] [I1] ids of requests are remembered over runs', async () => {
    const { flowId, runId } = await open('open');
    const rpc = () => system.client.rpc(OpenFlow, flowId, { requestId: 'note' }).note('noted');
    gate.open(`${flowId} noted`);
    await rpc();
    await goOn(flowId, runId);
    await rpc();
    await system.client.publish(OpenFlow, flowId, Mail, 'one', { messageId: 'm' });
    assert.equal((await eventsOf(system.client, flowId, 'RpcCompleted')).length, 0);
    await system.client.stop(flowId, 'terminate', 'enough');
  });
});
