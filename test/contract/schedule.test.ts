import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  gracefulComplete,
  initially,
  type ScheduleDefinition,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { refuses } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const minute = 60_000;
const day = 24 * 60 * minute;
const ran = new Log();

@Attribute()
class Region extends DurableAttribute<string> {}

@Channel()
class Ends extends DurableChannel<string> {}

interface Job {
  readonly name: string;
  /** It runs until it is told to end. */
  readonly stays?: boolean;
}

@Step({ name: 'Job' })
class JobStep {
  constructor(
    private readonly region: Region,
    private readonly ends: Ends,
  ) {}

  waitFor({ stays = false }: Job) {
    return stays ? until(this.ends.take(1)) : until(Timer.after(0));
  }

  execute({ name }: Job, ctx: StepContext) {
    ran.add(
      name,
      `${ctx.schedule?.id === name ? ctx.schedule.at.toISOString() : 'by hand'} ${this.region.get() ?? ''}`,
    );
    return gracefulComplete(name);
  }
}

@Flow({ name: 'ScheduledJob' })
class JobFlow {
  static readonly start = JobStep;
}

const flows = [JobFlow];

function definition(name: string, more: Partial<ScheduleDefinition<typeof JobFlow>> = {}) {
  return { every: '10m', flow: JobFlow, input: { name }, ...more } as ScheduleDefinition<typeof JobFlow>;
}

type Schedule = Awaited<ReturnType<System['client']['schedules']['describe']>>;

/** The schedule when it has started so many, and all of them have ended. */
function done(system: System, id: string, started: number): Promise<Schedule> {
  return shown(system, id, ({ counts, running }) => {
    assert.equal(counts.started, started);
    assert.deepEqual(running, []);
  });
}

/** The schedule when it looks as it should. */
function shown(system: System, id: string, check: (schedule: Schedule) => void): Promise<Schedule> {
  return eventually(async () => {
    const schedule = await system.client.schedules.describe(id);
    check(schedule);
    return schedule;
  });
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

async function end(system: System, flowId: string): Promise<void> {
  await system.client.publish(JobFlow, flowId, Ends, 'end');
  await system.client.result(JobFlow, flowId);
}

describeOnEveryStack('schedules', flows, (stack) => {
  const system = stack.shared({ flows });
  const names: string[] = [];

  function named(title: string): string {
    const id = fresh(title);
    names.push(id);
    return id;
  }

  /** Registers one that fires every ten minutes, and gives its first time. */
  async function register(id: string, more: Partial<ScheduleDefinition<typeof JobFlow>> = {}): Promise<number> {
    const { nextAt } = await system.client.schedules.register(id, definition(id, more));
    return nextAt!;
  }

  afterEach(async () => {
    for (const id of names.splice(0)) await system.client.schedules.delete(id).catch(() => {});
  });

  it('[F11] an interval starts a Flow each time, with its input, Attributes and the time it stands for', async () => {
    const id = named('interval');
    const first = await register(id, { attributes: [initially(Region, 'eu')] });
    await system.advance(35 * minute);
    await shown(system, id, ({ counts, running }) => {
      assert.deepEqual(counts, { started: 3, skipped: 0, missed: 0, refused: 0 });
      assert.deepEqual(running, []);
    });
    const at = [0, 10, 20].map((each) => iso(first + each * minute));
    assert.deepEqual(
      ran.of(id),
      at.map((each) => `${each} eu`),
    );
    for (const each of at) assert.equal(await system.client.result(JobFlow, `${id}/${each}`), id);
    const { nextAt, recent, flow } = await system.client.schedules.describe(id);
    assert.equal(nextAt, first + 30 * minute);
    assert.equal(flow, 'ScheduledJob');
    assert.deepEqual(
      recent.map(({ what }) => what),
      ['closed', 'closed', 'closed'],
    );
  });

  it('[F11] a cron pattern fires by the clock on the wall of its time zone', async () => {
    const id = named('cron');
    const nextAt = await register(id, { every: undefined, cron: '15 3 * * *', timeZone: 'Asia/Kolkata' } as never);
    const wall = new Date(nextAt).toLocaleTimeString('en-GB', { timeZone: 'Asia/Kolkata' });
    assert.equal(wall, '03:15:00');
    await system.advance(nextAt - system.clock.now() + day);
    await done(system, id, 2);
    assert.deepEqual(
      ran.of(id).map((each) => each.slice(11, 16)),
      ['21:45', '21:45'],
    );
  });

  it('[F11] registering the same again leaves it as it is; another definition changes it; neither doubles it', async () => {
    const id = named('again');
    const first = await register(id);
    await system.advance(5 * minute);
    const { schedules } = system.client;
    assert.deepEqual(await schedules.register(id, definition(id)), { created: false, nextAt: first });
    // The time of the same interval is counted from the first registration on.
    await system.advance(6 * minute);
    await shown(system, id, ({ counts }) => assert.equal(counts.started, 1));
    const changed = await schedules.register(id, definition(id, { every: '1h' }));
    assert.ok(changed.nextAt! > first + 60 * minute);
    await system.advance(40 * minute);
    assert.equal((await schedules.describe(id)).counts.started, 1);
    await system.advance(25 * minute);
    await shown(system, id, ({ counts }) => assert.equal(counts.started, 2));
    assert.equal((await schedules.list()).filter((each) => each.id === id).length, 1);
  });

  it('[F11] one that was due while no engine ran is not forgotten by who registers it again', async () => {
    const id = named('due');
    const first = await register(id, { input: { name: id, stays: true } });
    system.clock.move(15 * minute);
    await register(id);
    await shown(system, id, ({ running }) =>
      assert.deepEqual(
        running.map(({ at }) => at),
        [first],
      ),
    );
  });

  it('[F11] skip [default] leaves out what would overlap', async () => {
    const id = named('skip');
    const first = await register(id, { input: { name: id, stays: true } });
    await system.advance(25 * minute);
    const { running } = await shown(system, id, ({ counts }) => {
      assert.deepEqual(counts, { started: 1, skipped: 1, missed: 0, refused: 0 });
    });
    assert.deepEqual(
      running.map(({ at }) => at),
      [first],
    );
    await end(system, running[0]!.flowId);
    await shown(system, id, (schedule) => assert.deepEqual(schedule.running, []));
    await system.advance(10 * minute);
    await shown(system, id, ({ counts }) => assert.equal(counts.started, 2));
  });

  it('[F11] bufferOne starts one when the run before it has closed', async () => {
    const id = named('buffer');
    const first = await register(id, { overlap: 'bufferOne', input: { name: id, stays: true } });
    await system.advance(35 * minute);
    const { running } = await shown(system, id, ({ counts, bufferedAt }) => {
      assert.deepEqual(counts, { started: 1, skipped: 1, missed: 0, refused: 0 });
      assert.equal(bufferedAt, first + 10 * minute);
    });
    await end(system, running[0]!.flowId);
    await shown(system, id, (schedule) => {
      assert.deepEqual(
        schedule.running.map(({ at }) => at),
        [first + 10 * minute],
      );
      assert.equal(schedule.bufferedAt, null);
    });
  });

  it('[F11] allow lets them run beside each other', async () => {
    const id = named('allow');
    const first = await register(id, { overlap: 'allow', input: { name: id, stays: true } });
    await system.advance(25 * minute);
    await shown(system, id, ({ running, counts }) => {
      assert.deepEqual(
        running.map(({ at }) => at),
        [first, first + 10 * minute],
      );
      assert.deepEqual(
        running.map(({ flowId }) => flowId),
        running.map(({ at }) => `${id}/${iso(at)}`),
      );
      assert.equal(counts.skipped, 0);
    });
  });

  it('[F11] cancelPrevious cancels, and starts when that has closed', async () => {
    const id = named('cancel');
    const first = await register(id, { overlap: 'cancelPrevious', input: { name: id, stays: true } });
    await system.advance(25 * minute);
    await shown(system, id, ({ running }) =>
      assert.deepEqual(
        running.map(({ at }) => at),
        [first + 10 * minute],
      ),
    );
    const { status, failure, schedule, parents } = await system.client.describe(`${id}/${iso(first)}`);
    assert.equal(status, 'cancelled');
    assert.deepEqual([schedule, parents], [{ id, at: first }, []]);
    assert.match(failure!.message, /schedule/);
  });

  it('[F11] what is older than the catch-up window is missed, the rest is made up for in order', async () => {
    const id = named('catch-up');
    const first = await register(id, { overlap: 'allow', catchUp: '25m' });
    // The engine sees nothing of the hours between: it stood still.
    system.clock.move(first + 63 * minute - system.clock.now());
    const { counts } = await done(system, id, 3);
    assert.deepEqual(counts, { started: 3, skipped: 0, missed: 4, refused: 0 });
    assert.deepEqual(
      [...ran.of(id)].sort(),
      [40, 50, 60].map((each) => `${iso(first + each * minute)} `),
    );
  });

  it('[F11] paused it does not fire, resumed it goes on from the next time', async () => {
    const id = named('pause');
    const first = await register(id);
    const { schedules } = system.client;
    await schedules.pause(id, 'stock-taking');
    await system.advance(25 * minute);
    const { paused, nextAt, counts } = await schedules.describe(id);
    assert.equal(paused?.reason, 'stock-taking');
    assert.equal(nextAt, null);
    assert.equal(counts.started, 0);
    assert.deepEqual(await schedules.resume(id), { nextAt: first + 20 * minute });
    await system.advance(6 * minute);
    await done(system, id, 1);
    assert.deepEqual(ran.of(id), [`${iso(first + 20 * minute)} `]);
  });

  it('[F11] it is triggered by hand, once per request, also while it is paused', async () => {
    const id = named('trigger');
    await register(id, { input: { name: id, stays: true } });
    const { schedules } = system.client;
    await schedules.pause(id);
    const requestId = fresh('request');
    const { flowId } = await schedules.trigger(id, { requestId });
    assert.deepEqual(await schedules.trigger(id, { requestId }), { flowId });
    await shown(system, id, ({ running }) => assert.equal(running.length, 1));
    assert.equal((await schedules.trigger(id)).flowId, null);
    const { flowId: second } = await schedules.trigger(id, { overlap: 'allow' });
    assert.notEqual(second, flowId);
    await end(system, flowId!);
    await end(system, second!);
    assert.equal((await schedules.describe(id)).counts.skipped, 1);
  });

  it('[F11] a backfill fires for each time of a stretch, and starts nothing twice', async () => {
    const id = named('backfill');
    const first = await register(id);
    const { schedules } = system.client;
    await system.advance(15 * minute);
    const range = { from: first - 30 * minute, to: first };
    assert.deepEqual(await schedules.backfill(id, range), { fired: 4 });
    await shown(system, id, ({ running, recent }) => {
      assert.deepEqual(running, []);
      assert.equal(recent.length, 4);
    });
    const at = [-30, -20, -10, 0].map((each) => `${iso(first + each * minute)} `);
    assert.deepEqual([...ran.of(id)].sort(), at);
    assert.deepEqual(await schedules.backfill(id, range), { fired: 4 });
    await shown(system, id, ({ running }) => assert.deepEqual(running, []));
    assert.deepEqual([...ran.of(id)].sort(), at);
    await refuses(schedules.backfill(id, { from: first - 9 * day, to: first }), 'LIMIT_EXCEEDED');
  });

  it('[F11] open runs are shown oldest first, in whatever order they were started', async () => {
    const id = named('open');
    const first = await register(id, { input: { name: id, stays: true } });
    const { schedules } = system.client;
    await schedules.trigger(id);
    await schedules.backfill(id, { from: first - 30 * minute, to: first - 20 * minute });
    const { running } = await shown(system, id, (schedule) => {
      assert.equal(schedule.running.filter(({ runId }) => runId !== null).length, 3);
    });
    assert.deepEqual(
      running.slice(0, 2).map(({ at }) => at),
      [first - 30 * minute, first - 20 * minute],
    );
    for (const { flowId } of running) await end(system, flowId);
  });

  it('[F11] a firing whose flowId is taken is refused, and the run that has it goes on', async () => {
    const id = named('taken');
    const first = await register(id);
    const flowId = `${id}/${iso(first)}`;
    const { runId } = await system.client.start(JobFlow, flowId, { name: id, stays: true });
    await system.advance(15 * minute);
    await shown(system, id, ({ counts, recent }) => {
      assert.deepEqual(counts, { started: 0, skipped: 0, missed: 0, refused: 1 });
      assert.equal(recent[0]!.what, 'refused');
    });
    const { runId: latest, status } = await system.client.describe(flowId);
    assert.deepEqual([latest, status], [runId, 'running']);
    await end(system, flowId);
  });

  it('[F11] deleted it fires no more, its runs go on, and another of that id begins anew', async () => {
    const id = named('delete');
    const first = await register(id, { input: { name: id, stays: true }, overlap: 'bufferOne' });
    await system.advance(25 * minute);
    await shown(system, id, ({ bufferedAt }) => assert.notEqual(bufferedAt, null));
    const { schedules } = system.client;
    await schedules.delete(id);
    await refuses(schedules.describe(id), 'SCHEDULE_NOT_FOUND');
    await refuses(schedules.pause(id), 'SCHEDULE_NOT_FOUND');
    await refuses(schedules.delete(id), 'SCHEDULE_NOT_FOUND');
    assert.ok(!(await schedules.list()).some((each) => each.id === id));
    await end(system, `${id}/${iso(first)}`);
    await system.advance(25 * minute);
    await refuses(system.client.describe(`${id}/${iso(first + 10 * minute)}`), 'FLOW_NOT_FOUND');
    assert.equal((await schedules.register(id, definition(id))).created, true);
  });

  it('[F11] what cannot be is refused, and nothing is kept of it', async () => {
    const id = named('refused');
    const { schedules } = system.client;
    const wrong = (more: object) => schedules.register(id, { ...definition(id), every: undefined, ...more } as never);
    await refuses(wrong({}), 'INVALID_ARGUMENT', /either cron/);
    await refuses(wrong({ cron: '* * * * *', timeZone: 'UTC', every: '1h' }), 'INVALID_ARGUMENT', /either cron/);
    await refuses(wrong({ cron: '* * * * *' }), 'INVALID_ARGUMENT', /timeZone/);
    await refuses(wrong({ cron: '* * * * *', timeZone: 'Mars/Base' }), 'INVALID_ARGUMENT', /Mars/);
    await refuses(wrong({ cron: '61 * * * *', timeZone: 'UTC' }), 'INVALID_ARGUMENT', /61/);
    await refuses(wrong({ cron: '0 0 30 2 *', timeZone: 'UTC' }), 'INVALID_ARGUMENT', /no day/);
    await refuses(wrong({ every: '999ms' }), 'INVALID_DURATION', /once a second/);
    await refuses(wrong({ every: '1h', overlap: 'queue' }), 'INVALID_ARGUMENT', /overlap/);
    await refuses(wrong({ every: '1h', catchUp: -1 }), 'INVALID_DURATION', /catchUp/);
    await refuses(wrong({ every: '1h', flowId: 'x'.repeat(500) }), 'INVALID_ID');
    await refuses(schedules.register('', definition('x')), 'INVALID_ID');
    await refuses(schedules.describe(id), 'SCHEDULE_NOT_FOUND');
  });

  it('[F11] [P6] it survives its engine: each time fires once, and no worker is needed for it', async () => {
    const own = await stack.open({ flows, slots: 0 });
    const { nextAt: first } = await own.client.schedules.register('s', definition('s', { overlap: 'allow' }));
    await own.advance(15 * minute);
    await shown(own, 's', ({ counts }) => assert.equal(counts.started, 1));
    await own.crash();
    own.clock.move(20 * minute);
    await shown(own, 's', ({ counts }) => assert.equal(counts.started, 3));
    await own.crash();
    const { running } = await shown(own, 's', ({ nextAt }) => assert.equal(nextAt, first! + 30 * minute));
    assert.deepEqual(
      running.map(({ at }) => at),
      [0, 10, 20].map((each) => first! + each * minute),
    );
    for (const { flowId, runId } of running) assert.equal((await own.client.describe(flowId)).runId, runId);
  });
});
