import assert from 'node:assert/strict';
import {
  Attribute,
  allOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  initially,
  Lock,
  Query,
  Rpc,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, stepStates } from '../support/expect';
import { fresh, Gate } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

@Attribute(Lock.exclusive, { name: 'Sum' })
class Sum extends DurableAttribute<number> {}

@Channel({ name: 'Parts' })
class Parts extends DurableChannel<number> {}

@Channel({ name: 'Done' })
class Done extends DurableChannel<string> {}

@Step({ name: 'Add' })
class AddStep {
  constructor(
    private readonly sum: Sum,
    private readonly parts: Parts,
    private readonly done: Done,
  ) {}
  waitFor() {
    return allOf(this.parts.take(1), this.done.take(1));
  }
  execute(said: string) {
    const [part] = this.parts.received();
    this.sum.set((this.sum.get() ?? 0) + part!);
    const all = `${said} old:${part}:${this.done.received()[0]}`;
    return this.sum.get()! < 100 ? goTo(AddStep, all) : gracefulComplete(`${all} =${this.sum.get()}`);
  }
}

@Flow({ name: 'Summing' })
class OldFlow {
  static readonly start = AddStep;
  constructor(private readonly sum: Sum) {}
  @Query({ name: 'sum' }) read() {
    return this.sum.get();
  }
  @Rpc({ name: 'raise', locks: [Sum] }) raise(by: number) {
    this.sum.set(this.sum.get()! + by);
    return this.sum.get();
  }
}

@Attribute(Lock.exclusive, { name: 'Total', aliases: ['Sum'] })
class Total extends DurableAttribute<number> {}

@Channel({ name: 'Pieces', aliases: ['Parts'] })
class Pieces extends DurableChannel<number> {}

@Step({ name: 'Count', aliases: ['Add'] })
class CountStep {
  constructor(
    private readonly total: Total,
    private readonly pieces: Pieces,
    private readonly done: Done,
  ) {}
  waitFor() {
    return allOf(this.pieces.take(1), this.done.take(1));
  }
  execute(said: string) {
    const [piece] = this.pieces.received();
    this.total.set((this.total.get() ?? 0) + piece!);
    const all = `${said} new:${piece}:${this.done.received()[0]}`;
    return this.total.get()! < 100 ? goTo(CountStep, all) : gracefulComplete(`${all} =${this.total.get()}`);
  }
}

@Flow({ name: 'Counting', aliases: ['Summing'] })
class NewFlow {
  static readonly start = CountStep;
  constructor(private readonly total: Total) {}
  @Query({ name: 'total', aliases: ['sum'] }) read() {
    return this.total.get();
  }
  @Rpc({ name: 'increase', aliases: ['raise'], locks: [Total] }) increase(by: number) {
    this.total.set(this.total.get()! + by);
    return this.total.get();
  }
}

/** The Flow has kept its name. */
@Flow({ name: 'Summing' })
class InsideFlow {
  static readonly start = CountStep;
  constructor(private readonly total: Total) {}
  @Rpc({ name: 'raise', locks: [Total] }) raise(by: number) {
    this.total.set(this.total.get()! + by);
    return this.total.get();
  }
}

describeOnEveryStack('Renamed code', [OldFlow, NewFlow, InsideFlow], (stack) => {
  it('[V3] a run goes on under new names of its Flow, Step, Attribute, Channels and RPCs, and back', async () => {
    const system = await stack.open({ flows: [OldFlow] });
    await system.client.start(OldFlow, 'r', 'said', { attributes: [initially(Sum, 1)] });
    await system.client.publish(OldFlow, 'r', Parts, 10);
    await eventually(async () => assert.deepEqual(await stepStates(system.client, 'r'), { 'Add-1': 'waiting' }));

    await system.crash({ flows: [NewFlow] });
    const { client } = system;
    assert.equal(await client.rpc(NewFlow, 'r').read(), 1);
    await client.publish(NewFlow, 'r', Done, 'a');
    await eventually(async () => assert.deepEqual(await stepStates(system.client, 'r'), { 'Count-1': 'waiting' }));
    assert.equal(await client.rpc(NewFlow, 'r').increase(5), 16);
    assert.equal((await client.attributes(NewFlow, 'r')).get(Total), 16);
    await client.publish(NewFlow, 'r', Pieces, 20);
    await client.publish(NewFlow, 'r', Pieces, 30);

    await system.crash();
    await system.client.publish(NewFlow, 'r', Done, 'b');
    await eventually(async () => assert.deepEqual(await stepStates(system.client, 'r'), { 'Count-2': 'waiting' }));
    assert.equal((await eventsOf(system.client, 'r', 'NamesLearned')).length, 1);
    await system.client.publish(NewFlow, 'r', Pieces, 40);
    await system.client.publishAll(NewFlow, 'r', [
      { channel: Done, value: 'c' },
      { channel: Done, value: 'd' },
    ]);
    assert.equal(await system.client.result(NewFlow, 'r'), 'said new:10:a new:20:b new:30:c new:40:d =106');
    assert.equal((await system.client.attributes(NewFlow, 'r')).get(Total), 106);
    assert.equal(await system.client.rpc(NewFlow, 'r').read(), 106);
  });

  it('[V3] code from before a rename serves what came after it, where it has the Step', async () => {
    const system = await stack.open({ flows: [OldFlow] });
    await system.client.start(OldFlow, 'back', 'said', { attributes: [initially(Sum, 1)] });
    await eventually(async () => assert.deepEqual(await stepStates(system.client, 'back'), { 'Add-1': 'waiting' }));
    await system.crash({ flows: [NewFlow] });
    await system.client.publish(NewFlow, 'back', Pieces, 10);
    assert.equal(await system.client.rpc(NewFlow, 'back').increase(1), 2);
    await system.crash({ flows: [OldFlow] });
    assert.equal(await system.client.rpc(OldFlow, 'back').read(), 2);
    await system.client.publish(OldFlow, 'back', Parts, 88);
    await system.client.publishAll(OldFlow, 'back', [
      { channel: Done, value: 'a' },
      { channel: Done, value: 'b' },
    ]);
    assert.equal(await system.client.result(OldFlow, 'back'), 'said old:10:a old:88:b =100');
  });

  it('[V3] a run that new code began is served by code from before, but for Steps that it lacks', async () => {
    const system = await stack.open({ flows: [InsideFlow] });
    await system.client.start(InsideFlow, 'begun', 'said', { attributes: [initially(Total, 3)] });
    await eventually(async () => assert.deepEqual(await stepStates(system.client, 'begun'), { 'Count-1': 'waiting' }));
    await system.crash({ flows: [OldFlow] });
    assert.equal(await system.client.rpc(OldFlow, 'begun').raise(4), 7);
    await system.client.publish(OldFlow, 'begun', Parts, 93);
    await system.client.publish(OldFlow, 'begun', Done, 'a');
    await eventually(async () => assert.deepEqual((await system.client.describe('begun')).blocked, ['Count']));
    await system.crash({ flows: [InsideFlow] });
    assert.equal(await system.client.result(InsideFlow, 'begun'), 'said new:93:a =100');
  });
});

describeOnEveryStack('Renamed code beside the code before it', [OldFlow, InsideFlow], (stack) => {
  it('[V3] old and new workers serve the same runs', async () => {
    await using system = await stack.processes([OldFlow]);
    await system.openWorker();
    await system.openWorker({ flows: [InsideFlow] });
    const run = async () => {
      const flowId = fresh('beside');
      await system.client.start(OldFlow, flowId, '', { attributes: [initially(Sum, 60)] });
      for (let i = 1; i <= 3; i++) {
        await system.client.publish(OldFlow, flowId, Parts, 10);
        assert.equal(await system.client.rpc(OldFlow, flowId).raise(1), 60 + i);
      }
      await system.client.publish(OldFlow, flowId, Parts, 10);
      for (let i = 1; i <= 4; i++) await system.client.publish(OldFlow, flowId, Done, `${i}`);
      const said = String(await system.client.result(OldFlow, flowId));
      assert.match(said, /^( (old|new):10:\d){4} =103$/);
      return said;
    };
    // One worker may be quicker than the other for a while.
    await eventually(async () => {
      const said = (await Promise.all(Array.from({ length: 10 }, run))).join();
      return said.includes('old') && said.includes('new');
    });
  });
});

@Channel({ name: 'Go' })
class Go extends DurableChannel<number> {}

@Attribute({ name: 'Hits' })
class FreeHits extends DurableAttribute<number> {}

@Step({ name: 'Hit' })
class FreeHitStep {
  constructor(
    private readonly hits: FreeHits,
    private readonly go: Go,
  ) {}
  waitFor() {
    return until(this.go.take(1));
  }
  execute() {
    this.hits.set((this.hits.get() ?? 0) + 1);
    return gracefulComplete();
  }
}

@Step({ name: 'Fork' })
class FreeForkStep {
  execute() {
    return goToMany(to(FreeHitStep), to(FreeHitStep));
  }
}

@Flow({ name: 'Hitting' })
class FreeFlow {
  static readonly start = FreeForkStep;
  static readonly steps = [FreeHitStep];
}

@Attribute(Lock.exclusive, { name: 'Hits' })
class LockedHits extends DurableAttribute<number> {}

const gate = new Gate();

@Step({ name: 'Hit' })
class LockedHitStep {
  constructor(
    private readonly hits: LockedHits,
    private readonly go: Go,
  ) {}
  waitFor() {
    return until(this.go.take(1));
  }
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.stepExecutionId);
    this.hits.set((this.hits.get() ?? 0) + 1);
    return gracefulComplete();
  }
}

@Step({ name: 'Fork' })
class LockedForkStep {
  execute() {
    return goToMany(to(LockedHitStep), to(LockedHitStep));
  }
}

@Flow({ name: 'Hitting' })
class LockedFlow {
  static readonly start = LockedForkStep;
  static readonly steps = [LockedHitStep];
}

describeOnEveryStack('Code that locks more than the code before it', [FreeFlow, LockedFlow], (stack) => {
  it('[V1] [L1] a call takes the locks of the code that runs it, whatever scheduled it', async () => {
    await using system = await stack.processes([FreeFlow]);
    await system.openWorker({ flows: [LockedFlow] });
    const flowId = fresh('hitting');
    await system.client.start(FreeFlow, flowId);
    const waiting = { 'Hit-1': 'waiting', 'Hit-2': 'waiting' };
    await eventually(async () => assert.deepEqual(await stepStates(system.client, flowId), waiting));
    await system.client.publishAll(FreeFlow, flowId, [
      { channel: Go, value: 1 },
      { channel: Go, value: 2 },
    ]);
    await eventually(async () => {
      const states = Object.values(await stepStates(system.client, flowId));
      assert.deepEqual(states.sort(), ['locked', 'running']);
    });
    for (const execution of ['Hit-1', 'Hit-2']) gate.open(execution);
    await system.client.result(FreeFlow, flowId);
    assert.equal((await system.client.attributes(FreeFlow, flowId)).get(FreeHits), 2);
  });
});
