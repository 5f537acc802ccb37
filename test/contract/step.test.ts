import assert from 'node:assert/strict';
import {
  Attribute,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, stepStates } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const calls = new Log();
const seen = new Log<unknown>();
const gate = new Gate();
const soon = { initialInterval: 1, maximumInterval: 5 };

@Step()
class SyncStep {
  waitFor(_input: undefined, ctx: StepContext) {
    calls.add(ctx.flowId, 'sync waitFor');
    return until(Timer.after(0));
  }
  execute(_input: undefined, ctx: StepContext) {
    calls.add(ctx.flowId, 'sync execute');
    return goTo(AsyncStep);
  }
}

@Step()
class AsyncStep {
  async waitFor(_input: undefined, ctx: StepContext) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    calls.add(ctx.flowId, 'async waitFor');
    return until(Timer.after(0));
  }
  async execute(_input: undefined, ctx: StepContext) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    calls.add(ctx.flowId, 'async execute');
    return goTo(BareStep);
  }
}

@Step()
class BareStep {
  execute(_input: undefined, ctx: StepContext) {
    calls.add(ctx.flowId, 'bare execute');
    return gracefulComplete();
  }
}

@Flow()
class MethodsFlow {
  static readonly start = SyncStep;
  static readonly steps = [AsyncStep, BareStep];
}

interface Fork {
  readonly left: number;
}

@Step({ name: 'Fork' })
class ForkStep {
  execute(input: Fork, ctx: StepContext) {
    seen.add(ctx.flowId, [ctx.stepExecutionId, ctx.from]);
    if (input.left === 0) return goTo(BreakStep);
    return goToMany(to(ForkStep, { left: 0 }), to(LeafStep), to(LeafStep));
  }
}

@Step({ name: 'Leaf' })
class LeafStep {
  async execute(_input: undefined, ctx: StepContext) {
    seen.add(ctx.flowId, [ctx.stepExecutionId, ctx.from]);
    await gate.pass(ctx.flowId);
    return deadEnd();
  }
}

@Step({ name: 'Break', retry: { maximumAttempts: 1 }, onFailure: () => MendStep })
class BreakStep {
  execute(_input: undefined): never {
    throw new Error('broken');
  }
}

@Step({ name: 'Mend' })
class MendStep {
  execute(_input: undefined, ctx: StepContext) {
    seen.add(ctx.flowId, [ctx.stepExecutionId, ctx.from]);
    return gracefulComplete();
  }
}

@Flow()
class ForkFlow {
  static readonly start = ForkStep;
  static readonly steps = [LeafStep, BreakStep, MendStep];
}

interface Order {
  readonly id: string;
  readonly lines: { count: number }[];
  readonly at: Date;
}

@Step({ retry: soon })
class InputStep {
  waitFor(order: Order, ctx: StepContext) {
    this.take(order, ctx);
    if (ctx.attempt < 3) throw new Error('again');
    return until(Timer.after(0));
  }
  async execute(order: Order, ctx: StepContext) {
    this.take(order, ctx);
    if (ctx.attempt < 3) throw new Error('again');
    await gate.pass(`${ctx.flowId} ${ctx.attempt}`);
    return gracefulComplete(order);
  }
  private take(order: Order, ctx: StepContext): void {
    seen.add(ctx.flowId, structuredClone(order));
    order.lines.push({ count: 99 });
    order.at.setTime(0);
  }
}

@Flow()
class InputFlow {
  static readonly start = InputStep;
}

@Step({ retry: soon })
class LocalsStep {
  waitFor(_input: undefined, ctx: StepContext) {
    ctx.locals.set(`attempt ${ctx.attempt}`, true);
    ctx.locals.set('tried', { attempt: ctx.attempt });
    assert.deepEqual(ctx.locals.get('tried'), { attempt: ctx.attempt });
    if (ctx.attempt < 2) throw new Error('again');
    return until(Timer.after(0));
  }
  async execute(_input: undefined, ctx: StepContext) {
    if (ctx.attempt === 1) throw new Error('again');
    await gate.pass(`${ctx.flowId} ${ctx.attempt}`);
    return gracefulComplete(['tried', 'attempt 1', 'attempt 2'].map((name) => ctx.locals.get(name) ?? null));
  }
}

@Flow()
class LocalsFlow {
  static readonly start = LocalsStep;
}

@Attribute()
class Note extends DurableAttribute<string> {}

@Channel()
class Mails extends DurableChannel<string> {}

/** Stages one of everything in both methods; throws in the first attempt of each. */
@Step({ retry: soon })
class StagingStep {
  constructor(
    private readonly note: Note,
    private readonly mails: Mails,
  ) {}

  waitFor(_input: undefined, ctx: StepContext) {
    ctx.locals.set('local', ctx.attempt);
    this.stage(ctx);
    return until(Timer.after(0));
  }
  execute(_input: undefined, ctx: StepContext) {
    this.stage(ctx);
    return goTo(HoldStep);
  }
  private stage(ctx: StepContext): void {
    const what = `${ctx.method} ${ctx.attempt}`;
    this.note.set(what);
    this.mails.publish(what);
    ctx.recordEvent(what, { ctx: ctx.attempt });
    if (ctx.attempt === 1) throw new Error('again');
  }
}

@Step()
class HoldStep {
  constructor(
    private readonly note: Note,
    private readonly mails: Mails,
  ) {}

  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return gracefulComplete([this.note.get(), this.mails.peek()]);
  }
}

@Flow()
class StagingFlow {
  static readonly start = StagingStep;
  static readonly steps = [HoldStep];
}

@Step()
class CrowdStep {
  execute(size: number) {
    return goToMany(Array.from({ length: size }, (_, i) => to(MemberStep, i)));
  }
}

@Step()
class MemberStep {
  async execute(number: number, ctx: StepContext) {
    seen.add(ctx.flowId, number);
    await new Promise<void>((resolve) => setImmediate(resolve));
    return gracefulComplete();
  }
}

@Flow({ durability: 'ASYNC' })
class CrowdFlow {
  static readonly start = CrowdStep;
  static readonly steps = [MemberStep];
}

@Step()
class NeverStep {
  constructor(private readonly mails: Mails) {}
  waitFor() {
    return anyOf(this.mails.take(1));
  }
  execute() {
    return gracefulComplete();
  }
}

@Flow()
class NeverFlow {
  static readonly start = NeverStep;
}

const flows = [MethodsFlow, ForkFlow, InputFlow, LocalsFlow, StagingFlow, CrowdFlow, NeverFlow];

describeOnEveryStack('Step', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[S1] waitFor is optional, comes before execute, and both may be async', async () => {
    const flowId = fresh('methods');
    await system.client.start(MethodsFlow, flowId);
    await system.client.result(MethodsFlow, flowId);
    const expected = ['sync waitFor', 'sync execute', 'async waitFor', 'async execute', 'bare execute'];
    assert.deepEqual(calls.of(flowId), expected);
  });

  it('[S1] without waitFor, execute is scheduled at once', async () => {
    const flowId = fresh('methods');
    await system.client.start(MethodsFlow, flowId);
    await system.client.result(MethodsFlow, flowId);
    const started = await eventsOf(system.client, flowId, 'AttemptStarted');
    assert.deepEqual(
      started.map(({ fields }) => `${fields.execution}.${fields.method}`),
      ['SyncStep-1.waitFor', 'SyncStep-1.execute', 'AsyncStep-1.waitFor', 'AsyncStep-1.execute', 'BareStep-1.execute'],
    );
    const kinds = await eventKinds(system.client, flowId);
    assert.deepEqual(kinds.slice(-4), ['StepScheduled', 'AttemptStarted', 'ExecuteCompleted', 'FlowClosed']);
  });

  it('[S1] execute does not run before the wait holds', async () => {
    const flowId = fresh('never');
    await system.client.start(NeverFlow, flowId);
    await eventually(async () =>
      assert.deepEqual(await stepStates(system.client, flowId), { 'NeverStep-1': 'waiting' }),
    );
    await system.client.publish(NeverFlow, flowId, Mails, 'go');
    await system.client.result(NeverFlow, flowId);
  });

  it('[S2] executions are numbered per Step name, and know what scheduled them', async () => {
    const flowId = fresh('fork');
    await system.client.start(ForkFlow, flowId, { left: 1 });
    await eventually(() => seen.of(flowId).length === 5);
    gate.open(flowId);
    await system.client.result(ForkFlow, flowId);
    const byFork = { kind: 'step', stepExecutionId: 'Fork-1' };
    const sorted = [...seen.of(flowId)].sort((a, b) => String(a).localeCompare(String(b)));
    assert.deepEqual(sorted, [
      ['Fork-1', { kind: 'start' }],
      ['Fork-2', byFork],
      ['Leaf-1', byFork],
      ['Leaf-2', byFork],
      ['Mend-1', { kind: 'failure', stepExecutionId: 'Break-1' }],
    ]);
    const { scheduled } = await system.client.describe(flowId);
    assert.deepEqual(scheduled, { Fork: 2, Leaf: 2, Break: 1, Mend: 1 });
  });

  it('[S3] the input reaches both methods and every retry unchanged', async () => {
    const flowId = fresh('input');
    const order = { id: 'o-1', lines: [{ count: 1 }], at: new Date(1_000) };
    gate.open(`${flowId} 3`);
    await system.client.start(InputFlow, flowId, order);
    await system.client.result(InputFlow, flowId);
    assert.equal(seen.of(flowId).length, 6);
    for (const input of seen.of(flowId)) assert.deepEqual(input, order);
  });

  it('[S4] locals of the waitFor attempt that succeeded are read in execute, by all its attempts', async () => {
    const flowId = fresh('locals');
    gate.open(`${flowId} 2`);
    await system.client.start(LocalsFlow, flowId);
    assert.deepEqual(await system.client.result(LocalsFlow, flowId), [{ attempt: 2 }, null, true]);
  });

  it('[S5] what a method stages is saved in one write with its result, and a failed attempt leaves none of it', async () => {
    const flowId = fresh('staging');
    const { store, client } = system;
    store.keepBatches = true;
    await client.start(StagingFlow, flowId);
    await eventually(() => gate.arrived(flowId) === 1);
    store.keepBatches = false;
    gate.open(flowId);
    const expected = ['execute 2', ['waitFor 2', 'execute 2']];
    assert.deepEqual(await client.result(StagingFlow, flowId), expected);
    const [waited] = await eventsOf(client, flowId, 'WaitForCompleted');
    const [executed] = await eventsOf(client, flowId, 'ExecuteCompleted');
    for (const [event, method] of [
      [waited, 'waitFor'],
      [executed, 'execute'],
    ] as const) {
      const staged = event!.fields.staged as Record<string, unknown>;
      assert.deepEqual(staged.recorded, [{ name: `${method} 2`, data: { ctx: 2 } }]);
      assert.deepEqual(staged.locals, method === 'waitFor' ? { local: 2 } : {});
    }
    // The next Step is scheduled by the write that saves the result.
    const batch = store.batches.splice(0).find((each) => eventsIn(each).includes('ExecuteCompleted'));
    assert.ok(eventsIn(batch!).includes('StepScheduled'));
  });

  it('[S11] parallel Steps start roughly in the order in which they became ready', async () => {
    const narrow = await stack.open({ flows, slots: 1 });
    const flowId = fresh('crowd');
    await narrow.client.start(CrowdFlow, flowId, 200);
    await narrow.client.result(CrowdFlow, flowId);
    const order = seen.of(flowId) as number[];
    assert.equal(new Set(order).size, 200);
    for (const [place, number] of order.entries()) {
      assert.ok(Math.abs(place - number) <= 50, `number ${number} started as number ${place}`);
    }
  });
});

describeOnEveryStack('Step over a crash', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[S2] numbers go on where they were, and are not used again', async () => {
    const flowId = fresh('fork');
    await system.client.start(ForkFlow, flowId, { left: 1 });
    await system.client.waitForStep(ForkFlow, flowId, MendStep);
    await system.crash();
    assert.deepEqual(Object.keys(await stepStates(system.client, flowId)), ['Leaf-1', 'Leaf-2']);
    await eventually(async () => {
      await system.advance(1_000);
      return seen.of(flowId).length >= 7;
    });
    gate.open(flowId);
    await system.client.result(ForkFlow, flowId);
    assert.deepEqual((await system.client.describe(flowId)).scheduled, { Fork: 2, Leaf: 2, Break: 1, Mend: 1 });
  });

  it('[S3] the input is durable', async () => {
    const flowId = fresh('input');
    const order = { id: 'o-1', lines: [{ count: 1 }], at: new Date(1_000) };
    await system.client.start(InputFlow, flowId, order);
    await eventually(() => gate.arrived(`${flowId} 3`) === 1);
    await system.crash();
    gate.open(`${flowId} 4`);
    await system.client.result(InputFlow, flowId);
    assert.equal(seen.of(flowId).length, 7);
    for (const input of seen.of(flowId)) assert.deepEqual(input, order);
  });

  it('[S4] locals are saved with the result of waitFor', async () => {
    const flowId = fresh('locals');
    await system.client.start(LocalsFlow, flowId);
    await eventually(() => gate.arrived(`${flowId} 2`) === 1);
    await system.crash();
    gate.open(`${flowId} 3`);
    assert.deepEqual(await system.client.result(LocalsFlow, flowId), [{ attempt: 2 }, null, true]);
  });

  // Processes cannot be killed at a chosen write; the tests of faults and of clusters kill them at any time.
  if (!stack.isCluster) {
    it('[S5] a crash between any two writes leaves all of a result or nothing', async () => {
      let complete = 0;
      let writes = 0;
      for (let keep = 0; complete === 0; keep++) {
        const flowId = fresh('staging');
        await system.crash();
        let left = keep;
        let stopped = false;
        await system.client.start(StagingFlow, flowId);
        system.store.faults = {
          beforeWrite: () => {
            if (left-- <= 0) {
              stopped = true;
              return new Promise(() => {});
            }
          },
        };
        // Started again, so that its first attempt counts; the first one may have run meanwhile.
        await eventually(() => stopped || gate.arrived(flowId) > 0);
        system.store.faults = {};
        await system.crash({ slots: 0 });
        const events = await eventKinds(system.client, flowId);
        const note = (await system.client.attributes(StagingFlow, flowId)).get(Note);
        const { unread, steps } = await system.client.describe(flowId);
        const expected = events.includes('ExecuteCompleted') ? 2 : events.includes('WaitForCompleted') ? 1 : 0;
        assert.equal(note, [undefined, 'waitFor 2', 'execute 2'][expected], `after ${keep} writes`);
        assert.equal(unread[0]?.messages ?? 0, expected);
        assert.deepEqual(
          steps.map(({ step }) => step),
          [expected === 2 ? 'HoldStep' : 'StagingStep'],
        );
        if (expected === 2) complete++;
        writes = keep;
        await system.client.stop(flowId, 'terminate', 'seen');
        await system.crash({ slots: 10 });
      }
      assert.ok(writes >= 4, 'the loop saw crashes before and after each result');
    });
  }
});
