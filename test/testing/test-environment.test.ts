import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { TestEnvironment, type TestEnvironmentOptions } from '../../lib/testing';
import { refuses } from '../support/expect';
import { FlakyFlow, flows, gate, NapFlow, ParentFlow, ReminderFlow, Reminders, ran, SlowFlow } from './flows';

const hour = 3_600_000;

describe('TestEnvironment', () => {
  let env: TestEnvironment;
  const opened: TestEnvironment[] = [];
  const open = async (options: Partial<TestEnvironmentOptions> = {}) => {
    env = await TestEnvironment.open({ flows, startAt: Date.UTC(2030, 0, 1), ...options });
    opened.push(env);
    return env;
  };
  beforeEach(() => {
    ran.length = 0;
    return open();
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });

  it('fires every timer on the way in order, and what follows settles before the next', async () => {
    await env.client.start(ReminderFlow, 'r');
    await env.advance('73h');
    assert.equal((await env.client.attributes(ReminderFlow, 'r')).get(Reminders), 3);
    assert.deepEqual(ran, ['RemindStep-1#1', 'RemindStep-2#1', 'RemindStep-3#1']);
    assert.equal(env.now.toISOString(), '2030-01-04T01:00:00.000Z');
    const fired = (await env.client.history('r')).filter(({ kind }) => kind === 'WaitSatisfied');
    assert.deepEqual(
      fired.map(({ at }) => (at.getTime() - Date.UTC(2030, 0, 1)) / hour),
      [24, 48, 72],
    );
    assert.equal(await env.client.rpc(ReminderFlow, 'r').answer('done'), 4);
    assert.equal(await env.client.result(ReminderFlow, 'r'), 'done');
  });

  it('time stands still by itself', async () => {
    await env.client.start(NapFlow, 'n', 1);
    await pause(20);
    assert.deepEqual(ran, []);
    assert.equal(env.now.getTime(), Date.UTC(2030, 0, 1));
    await env.advance(1);
    assert.deepEqual(ran, ['n@1']);
  });

  it('nextTimer goes to what is due next: timers and ends of back-off, of every Flow', async () => {
    const start = env.now.getTime();
    await env.client.start(ReminderFlow, 'r');
    await env.client.start(FlakyFlow, 'f');
    await env.client.start(NapFlow, 'n', 25 * hour);
    const at = async () => (((await env.nextTimer()) ?? env.now).getTime() - start) / 1_000;
    assert.deepEqual([await at(), await at(), await at()], [10, 40, 130]);
    assert.equal(await env.client.result(FlakyFlow, 'f'), 4);
    assert.deepEqual([await at(), await at(), await at()], [86_400, 90_000, 2 * 86_400]);
    await env.client.stop('r', 'cancel', 'enough');
    assert.equal(await env.nextTimer(), undefined);
  });

  it('waits decades', async () => {
    await env.client.start(NapFlow, 'n', 20 * 365 * 24 * hour);
    await env.advance('7299d');
    assert.deepEqual(ran, []);
    await env.advance('1d');
    assert.equal(ran.length, 1);
  });

  it('orders the timers of many Flows, also of asynchronous Steps', async () => {
    const all = Array.from({ length: 50 }, (_, i) => ((i * 37) % 50) + 1);
    for (const ms of all) await env.client.start(NapFlow, `n${ms}`, ms * 1_000);
    await env.advance('1h');
    assert.deepEqual(
      ran,
      Array.from({ length: 50 }, (_, i) => `n${i + 1}@${(i + 1) * 1_000}`),
    );
  });

  it('runs SubFlows, over a crash', async () => {
    await env.client.start(ParentFlow, 'p');
    await env.advance('25h');
    await env.crash();
    await env.advance('24h');
    assert.equal((await env.client.attributes(ReminderFlow, 'child')).get(Reminders), 2);
    await env.client.rpc(ReminderFlow, 'child').answer('from the child');
    assert.equal(await env.client.result(ParentFlow, 'p'), 'from the child');
  });

  it('settled waits for handlers that wait for something real', async () => {
    await env.client.start(SlowFlow, 's', 'io');
    await env.settled();
    assert.equal((await env.client.describe('s')).status, 'completed');
  });

  it('settled says which handler does not end', async () => {
    const impatient = await open({ patience: 50 });
    let pass = () => {};
    gate.passed = new Promise((resolve) => {
      pass = resolve;
    });
    await impatient.client.start(SlowFlow, 's', 'gate');
    await refuses(impatient.settled(), 'DEADLINE_EXCEEDED', /still running: SlowStep/);
    pass();
    await impatient.settled();
    assert.equal(await impatient.client.result(SlowFlow, 's'), 'gate');
  });

  it('lets time pass while a handler runs, if told to: timeouts can be tried', async () => {
    await env.client.start(SlowFlow, 's', 'hang');
    await env.advance('4m', { whileRunning: true });
    assert.equal((await env.client.describe('s')).status, 'running');
    await env.advance('61s', { whileRunning: true });
    const { status, failure } = await env.client.describe('s');
    assert.deepEqual([status, failure?.name], ['failed', 'MethodTimeout']);
    await env.settled();
  });

  it('crash: what ran never comes back, and what is saved goes on', async () => {
    let pass = () => {};
    gate.passed = new Promise((resolve) => {
      pass = resolve;
    });
    await env.client.start(SlowFlow, 's', 'gate');
    await env.client.start(ReminderFlow, 'r');
    await env.settled({ whileRunning: true });
    await env.crash();
    pass();
    await env.settled();
    assert.equal(env.crashes, 1);
    const { status, failure } = await env.client.describe('s');
    assert.deepEqual([status, failure?.name], ['failed', 'WorkerLost']);
    await env.advance('24h');
    assert.deepEqual(ran, ['gate', 'RemindStep-1#1']);
  });

  it('crashes before and after each durable write of a scenario, and calls are answered by the next engine', async () => {
    const scenario = async () => {
      await env.client.start(ReminderFlow, 'r', undefined, { requestId: 'once' });
      await env.advance('25h');
      await env.client.rpc(ReminderFlow, 'r').answer('done');
      await env.advance('1h');
      assert.equal(await env.client.result(ReminderFlow, 'r'), 'done');
      assert.equal((await env.client.attributes(ReminderFlow, 'r')).get(Reminders), 1);
    };
    for (const when of ['crashBeforeWrite', 'crashAfterWrite'] as const) {
      let crashed = 0;
      for (let n = 1; ; n++) {
        await open();
        env[when](n);
        await scenario();
        if (env.crashes === 0) break;
        crashed++;
      }
      assert.ok(crashed >= 6, `${when}: ${crashed}`);
    }
  });

  it('crashes again while it opens', async () => {
    await env.client.start(ReminderFlow, 'r');
    env.crashBeforeWrite(1);
    await env.crash();
    await env.advance('25h');
    assert.equal(env.crashes, 2);
    assert.equal((await env.client.attributes(ReminderFlow, 'r')).get(Reminders), 1);
  });

  it('failed writes delay and lose nothing', async () => {
    env.failWrites(3);
    const started = env.client.start(ReminderFlow, 'r');
    await env.advance('25h');
    await started;
    assert.equal((await env.client.attributes(ReminderFlow, 'r')).get(Reminders), 1);
    assert.equal(env.crashes, 0);
  });

  it('counts writes, refuses nonsense, and leaves nothing behind when closed', async () => {
    const before = env.writes;
    await env.client.start(ReminderFlow, 'r');
    assert.ok(env.writes > before);
    assert.throws(() => env.crashAfterWrite(0), { code: 'INVALID_ARGUMENT' });
    assert.throws(() => env.failWrites(1.5), { code: 'INVALID_ARGUMENT' });
    await refuses(env.advance('soon' as '1s'), 'INVALID_DURATION');
    const waiting = refuses(env.client.result(ReminderFlow, 'r'), 'CLOSED');
    await env.close();
    await waiting;
    await env.close();
    await refuses(env.settled(), 'CLOSED');
    await refuses(env.advance(1), 'CLOSED');
  });
});
