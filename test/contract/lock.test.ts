import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  deadEnd,
  Flow,
  goToMany,
  gracefulComplete,
  initially,
  Lock,
  type MovementOptions,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, failureOf, stepStates } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack, type System } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute(Lock.exclusive)
class Balance extends DurableAttribute<number> {}

@Attribute(Lock.exclusive)
class Second extends DurableAttribute<number> {}

@Attribute()
class Accounts extends DurableAttributeMap<number> {}

@Channel()
class Wakes extends DurableChannel<string> {}

interface Work {
  readonly name: string;
  readonly accountId?: string;
  readonly touch?: string;
  readonly failures?: number;
  /** Waits at the gate of this name. */
  readonly gated?: boolean;
}

type Kind = 'exclusive' | 'shared' | 'none' | 'second' | 'both' | 'keyed' | 'whole map' | 'waits' | 'count' | 'wrong';
type Plan = readonly (Work & { readonly kind: Kind; readonly options?: 'unlocked' | 'shared' })[];

const overrides: Record<string, MovementOptions> = {
  unlocked: { locks: [{ attribute: Balance, mode: 'none' }] },
  shared: { locks: [{ attribute: Balance, mode: 'shared' }] },
};

async function work(input: Work, ctx: StepContext) {
  log.add(ctx.flowId, `${input.name} in`);
  if (input.gated) await gate.pass(`${ctx.flowId} ${input.name}`);
  if (ctx.attempt <= (input.failures ?? 0)) throw new Error('again');
  log.add(ctx.flowId, `${input.name} out`);
  return deadEnd();
}

@Step({ name: 'Exclusive', retry: { initialInterval: '1m' } })
class ExclusiveStep {
  constructor(readonly balance: Balance) {}
  execute(input: Work, ctx: StepContext) {
    return work(input, ctx);
  }
}

@Step({ name: 'Shared' })
class SharedStep {
  constructor(@Lock.shared readonly balance: Balance) {}
  execute(input: Work, ctx: StepContext) {
    return work(input, ctx);
  }
}

@Step({ name: 'None' })
class NoneStep {
  constructor(@Lock.none readonly balance: Balance) {}
  execute(input: Work, ctx: StepContext) {
    return work(input, ctx);
  }
}

@Step({ name: 'Second' })
class SecondStep {
  constructor(readonly second: Second) {}
  execute(input: Work, ctx: StepContext) {
    return work(input, ctx);
  }
}

@Step({ name: 'Both' })
class BothStep {
  constructor(
    readonly second: Second,
    readonly balance: Balance,
  ) {}
  execute(input: Work, ctx: StepContext) {
    return work(input, ctx);
  }
}

@Step({ name: 'Keyed' })
class KeyedStep {
  constructor(@Lock('exclusive', { key: 'accountId' }) private readonly accounts: Accounts) {}
  execute(input: Work, ctx: StepContext) {
    const key = input.touch ?? input.accountId!;
    this.accounts.set(key, (this.accounts.get(key) ?? 0) + 1);
    return work(input, ctx);
  }
}

@Step({ name: 'WholeMap' })
class WholeMapStep {
  constructor(@Lock.exclusive private readonly accounts: Accounts) {}
  execute(input: Work, ctx: StepContext) {
    this.accounts.set('all', this.accounts.size);
    return work(input, ctx);
  }
}

@Step({ name: 'Waits' })
class WaitsStep {
  constructor(
    private readonly balance: Balance,
    private readonly wakes: Wakes,
  ) {}
  waitFor(input: Work, ctx: StepContext) {
    ctx.locals.set('seen', this.balance.get() ?? null);
    if (input.touch === 'write in waitFor') this.balance.set(1);
    return until(this.wakes.take(1));
  }
  execute(input: Work, ctx: StepContext) {
    return work(input, ctx);
  }
}

@Step({ name: 'Count' })
class CountStep {
  constructor(private readonly balance: Balance) {}
  async execute(input: Work, ctx: StepContext) {
    const before = this.balance.get() ?? 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.balance.set(before + 1);
    return work(input, ctx);
  }
}

@Step({ name: 'Wrong' })
class WrongStep {
  constructor(@Lock.shared private readonly balance: Balance) {}
  execute(_input: Work) {
    this.balance.set(1);
    return deadEnd();
  }
}

const steps = {
  exclusive: ExclusiveStep,
  shared: SharedStep,
  none: NoneStep,
  second: SecondStep,
  both: BothStep,
  keyed: KeyedStep,
  'whole map': WholeMapStep,
  waits: WaitsStep,
  count: CountStep,
  wrong: WrongStep,
} as const;

@Step({ name: 'Plan' })
class PlanStep {
  execute(plan: Plan) {
    return goToMany([
      ...plan.map(({ kind, options, ...input }) => to(steps[kind], input).with(options ? overrides[options]! : {})),
      to(DoneStep),
    ]);
  }
}

@Step({ name: 'Done' })
class DoneStep {
  execute() {
    return gracefulComplete();
  }
}

@Flow()
class LockFlow {
  static readonly start = PlanStep;
  static readonly steps = [
    ExclusiveStep,
    SharedStep,
    NoneStep,
    SecondStep,
    BothStep,
    KeyedStep,
    WholeMapStep,
    WaitsStep,
    CountStep,
    WrongStep,
    DoneStep,
  ];
}

const flows = [LockFlow];

/** A run whose Steps the test lets through one by one. */
class Run {
  readonly flowId = fresh('lock');

  constructor(private readonly system: System) {}

  async start(...plan: Plan): Promise<this> {
    await this.system.client.start(LockFlow, this.flowId, plan, { attributes: [initially(Balance, 0)] });
    await eventually(async () => assert.ok(!('Plan-1' in (await this.states()))));
    return this;
  }

  states(): Promise<Record<string, string>> {
    return stepStates(this.system.client, this.flowId);
  }

  in(...names: string[]): Promise<void> {
    return eventually(() =>
      assert.deepEqual(
        log
          .of(this.flowId)
          .filter((entry) => entry.endsWith(' in'))
          .sort(),
        names.map((name) => `${name} in`).sort(),
      ),
    );
  }

  open(...names: string[]): void {
    for (const name of names) gate.open(`${this.flowId} ${name}`);
  }

  async done(): Promise<readonly string[]> {
    await this.system.client.result(LockFlow, this.flowId);
    return log.of(this.flowId);
  }
}

const gated = (kind: Kind, name: string, more: Partial<Work> = {}) => ({ kind, name, gated: true, ...more });

describeOnEveryStack('Lock', flows, (stack) => {
  const system = stack.shared({ flows });
  const run = (...plan: Plan) => new Run(system).start(...plan);
  const locksOf = async ({ flowId }: Run) => (await system.client.describe(flowId)).locks;

  it('[L1] exclusive excludes all, shared excludes exclusive only, none excludes nothing', async () => {
    const first = await run(gated('exclusive', 'a'), gated('exclusive', 'b'), gated('shared', 'c'), gated('none', 'd'));
    await first.in('a', 'd');
    first.open('a');
    await first.in('a', 'd', 'b');
    first.open('b');
    await first.in('a', 'd', 'b', 'c');
    first.open('c', 'd');
    await first.done();
    const second = await run(gated('shared', 'a'), gated('shared', 'b'), gated('exclusive', 'c'));
    await second.in('a', 'b');
    second.open('a');
    await eventually(async () => assert.ok(!('Shared-1' in (await second.states()))));
    assert.equal((await second.states())['Exclusive-1'], 'locked');
    second.open('b', 'c');
    await second.done();
  });

  it('[L1] a movement may lock otherwise', async () => {
    const one = await run(
      gated('exclusive', 'a'),
      { ...gated('exclusive', 'b'), options: 'unlocked' as const },
      { ...gated('exclusive', 'c'), options: 'shared' as const },
    );
    await one.in('a', 'b');
    one.open('a');
    await one.in('a', 'b', 'c');
    one.open('b', 'c');
    await one.done();
  });

  it('[L1] waitFor takes no lock, and reads freely', async () => {
    const one = await run(gated('exclusive', 'a'), gated('waits', 'w'));
    await one.in('a');
    await eventually(async () => assert.equal((await one.states())['Waits-1'], 'waiting'));
    assert.deepEqual((await locksOf(one))[0]!.holders, ['Exclusive-1']);
    one.open('a', 'w');
    await system.client.publish(LockFlow, one.flowId, Wakes, 'go');
    await one.done();
  });

  for (const [title, plan, message] of [
    ['with a shared lock', { kind: 'wrong', name: 'x' }, /Wrong-1\.execute wrote the locked Attribute Balance without/],
    ['in waitFor', { kind: 'waits', name: 'x', touch: 'write in waitFor' }, /Waits-1\.waitFor wrote the locked/],
    ['with the lock taken off', { kind: 'count', name: 'x', options: 'unlocked' }, /Count-1\.execute wrote the locked/],
  ] as const) {
    it(`[L1] writing a locked Attribute without its exclusive lock is a definition error: ${title}`, async () => {
      const one = await run(plan);
      const error = await failureOf(system.client, LockFlow, one.flowId);
      assert.equal(error.failKind, 'definition');
      assert.match(error.message, message);
      assert.equal((await system.client.attributes(LockFlow, one.flowId)).get(Balance), 0);
    });
  }

  it('[L1] a map is locked by the key in the input, or as a whole', async () => {
    const one = await run(
      gated('keyed', 'a1', { accountId: 'a' }),
      gated('keyed', 'a2', { accountId: 'a' }),
      gated('keyed', 'b', { accountId: 'b' }),
      gated('whole map', 'all'),
      gated('keyed', 'c', { accountId: 'c' }),
    );
    await one.in('a1', 'b');
    one.open('a1');
    await one.in('a1', 'b', 'a2');
    one.open('a2', 'b');
    await one.in('a1', 'b', 'a2', 'all');
    one.open('all');
    await one.in('a1', 'b', 'a2', 'all', 'c');
    one.open('c');
    await one.done();
    const entries = (await system.client.attributes(LockFlow, one.flowId)).entries(Accounts);
    assert.deepEqual(Object.fromEntries(entries), { a: 2, b: 1, all: 2, c: 1 });
  });

  it('[L1] touching another key than the one locked fails the call, and so does an input without the key', async () => {
    const other = await run({ kind: 'keyed', name: 'x', accountId: 'a', touch: 'b' });
    const error = await failureOf(system.client, LockFlow, other.flowId);
    assert.equal(error.failKind, 'definition');
    assert.match(error.message, /touched the entry "b" of Accounts, and holds the lock of "a" only/);
    const missing = fresh('lock');
    await system.client.start(LockFlow, missing, [{ kind: 'keyed', name: 'x' }]);
    const refused = await failureOf(system.client, LockFlow, missing);
    assert.equal(refused.failKind, 'definition');
    assert.match(refused.message, /key at 'accountId' of the input of Keyed/);
  });

  it('[L2] the locks of a call are taken all at once: it holds none while it waits for the other', async () => {
    const one = await run(gated('second', 's'), gated('both', 'both'), gated('exclusive', 'late'));
    // Both waits for Second and came before late, which therefore queues behind it, first come, first served.
    await one.in('s');
    const locks = await locksOf(one);
    assert.deepEqual(locks.find(({ attribute }) => attribute === 'Balance')!.holders, []);
    one.open('s');
    await one.in('s', 'both');
    one.open('both');
    await one.in('s', 'both', 'late');
    one.open('late');
    await one.done();
  });

  it('[L2] crossing claims of many calls neither deadlock nor starve one', async () => {
    const kinds = ['both', 'exclusive', 'second', 'shared'] as const;
    const one = await run(...Array.from({ length: 80 }, (_, i) => ({ kind: kinds[i % 4]!, name: `${i}` })));
    assert.equal((await one.done()).filter((entry) => entry.endsWith('out')).length, 80);
  });

  it('[L2] first come, first served per key: shared calls that come later do not pass an exclusive one', async () => {
    const one = await run(gated('shared', 'a'), gated('exclusive', 'x'), gated('shared', 'b'), gated('shared', 'c'));
    await one.in('a');
    assert.deepEqual((await locksOf(one))[0], {
      attribute: 'Balance',
      key: undefined,
      holders: ['Shared-1'],
      waiting: ['Exclusive-1', 'Shared-2', 'Shared-3'],
    });
    one.open('a');
    await one.in('a', 'x');
    one.open('x');
    await one.in('a', 'x', 'b', 'c');
    one.open('b', 'c');
    await one.done();
  });

  it('[L3] locks are held through retries and back-off, and released when the call ends', async () => {
    const one = await run(gated('exclusive', 'a', { failures: 2 }), gated('exclusive', 'b'));
    one.open('a');
    await eventually(async () => assert.equal((await one.states())['Exclusive-1'], 'backoff'));
    assert.equal((await one.states())['Exclusive-2'], 'locked');
    await system.advance(60_001);
    await eventually(() => log.count(one.flowId, 'a in') === 2);
    await eventually(async () => assert.equal((await one.states())['Exclusive-1'], 'backoff'));
    assert.deepEqual((await locksOf(one))[0]!.holders, ['Exclusive-1']);
    await system.advance(120_001);
    await eventually(() => log.count(one.flowId, 'b in') === 1);
    assert.deepEqual(log.of(one.flowId), ['a in', 'a in', 'a in', 'a out', 'b in']);
    one.open('b');
    await one.done();
  });

  it('[L3] locks are released when the call is cancelled with its Flow, and the Flow holds none any more', async () => {
    const one = await run(gated('exclusive', 'a'), gated('exclusive', 'b'));
    await one.in('a');
    await system.client.stop(one.flowId, 'cancel', 'enough');
    assert.deepEqual(await locksOf(one), []);
    one.open('a');
  });

  it('[L3] a granted call that no worker takes gives its locks to those who wait, after 5 s, and queues again', async () => {
    const narrow = await stack.open({ flows, slots: 1 });
    const one = await new Run(narrow).start(gated('none', 'slot'), gated('exclusive', 'a'), gated('exclusive', 'b'));
    await one.in('slot');
    const holders = async () => (await narrow.client.describe(one.flowId)).locks[0]!.holders;
    assert.deepEqual(await holders(), ['Exclusive-1']);
    await narrow.advance(1_000);
    assert.deepEqual(await holders(), ['Exclusive-1']);
    await eventually(async () => {
      await narrow.advance(500);
      assert.deepEqual(await holders(), ['Exclusive-2']);
    });
    assert.deepEqual(await one.states(), {
      'None-1': 'running',
      'Exclusive-1': 'locked',
      'Exclusive-2': 'ready',
      'Done-1': 'ready',
    });
    await eventually(async () => {
      await narrow.advance(500);
      assert.deepEqual(await holders(), ['Exclusive-1']);
    });
    one.open('slot', 'a', 'b');
    await one.done();
  });

  it('[L3] a granted call keeps its locks for as long as nobody else wants them', async () => {
    const narrow = await stack.open({ flows, slots: 1 });
    const one = await new Run(narrow).start(gated('none', 'slot'), { kind: 'exclusive', name: 'a' });
    await one.in('slot');
    await narrow.advance(600_000);
    assert.equal((await one.states())['Exclusive-1'], 'ready');
    assert.equal((await eventsOf(narrow.client, one.flowId, 'LocksReturned')).length, 0);
    one.open('slot');
    await one.done();
  });

  it('[L3] a waiting Step and a call queued behind others hold no lock', async () => {
    const one = await run(gated('waits', 'w'), gated('exclusive', 'a'), gated('exclusive', 'b'));
    await one.in('a');
    await eventually(async () => assert.equal((await one.states())['Waits-1'], 'waiting'));
    assert.deepEqual(await locksOf(one), [
      { attribute: 'Balance', key: undefined, holders: ['Exclusive-1'], waiting: ['Exclusive-2'] },
    ]);
    await system.client.stop(one.flowId, 'terminate', 'seen');
    one.open('a');
  });

  it('[L4] no update is lost among those that lock', async () => {
    const one = await run(...Array.from({ length: 60 }, (_, i) => ({ kind: 'count' as const, name: `${i}` })));
    await one.done();
    assert.equal((await system.client.attributes(LockFlow, one.flowId)).get(Balance), 60);
  });
});

describeOnEveryStack('Lock over a crash', flows, (stack) => {
  const system = stack.shared({ flows });

  it('[L3] locks stay with their call, and are free when it has ended', async () => {
    const one = await new Run(system).start(gated('exclusive', 'a'), gated('exclusive', 'b'), gated('shared', 'c'));
    await one.in('a');
    await system.crash();
    assert.deepEqual((await system.client.describe(one.flowId)).locks, [
      { attribute: 'Balance', key: undefined, holders: ['Exclusive-1'], waiting: ['Exclusive-2', 'Shared-1'] },
    ]);
    await system.advance(60_001);
    one.open('a', 'b', 'c');
    await one.done();
    const order = log.of(one.flowId).filter((entry) => entry.endsWith(' in'));
    assert.deepEqual([order.at(-2), order.at(-1)], ['b in', 'c in']);
  });

  it('[L4] no update is lost over crashes in between', async () => {
    const one = await new Run(system).start(
      ...Array.from({ length: 30 }, (_, i) => ({ kind: 'count' as const, name: `${i}` })),
    );
    for (let i = 1; i <= 3; i++) {
      await eventually(() => log.of(one.flowId).filter((entry) => entry.endsWith('out')).length >= i * 5);
      await system.crash();
      await system.advance(2_000);
    }
    await one.done();
    assert.equal((await system.client.attributes(LockFlow, one.flowId)).get(Balance), 30);
    assert.equal((await eventsOf(system.client, one.flowId, 'ExecuteCompleted')).length, 32);
  });
});
