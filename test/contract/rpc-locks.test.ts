import assert from 'node:assert/strict';
import {
  Attribute,
  DurableAttribute,
  DurableAttributeMap,
  deadEnd,
  Flow,
  initially,
  Lock,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf, refuses } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { pastDeadline } from '../support/past-deadline';
import { describeOnEveryStack } from '../support/stacks';

const gate = new Gate();
const log = new Log();

@Attribute(Lock.exclusive)
class Balance extends DurableAttribute<number> {}

@Attribute(Lock.exclusive)
class Accounts extends DurableAttributeMap<number> {}

/** Holds the lock of the balance until its gate opens. */
@Step({ name: 'Hold' })
class HoldStep {
  constructor(private readonly balance: Balance) {}
  async execute(name: string, ctx: StepContext) {
    log.add(ctx.flowId, name);
    const before = this.balance.get() ?? 0;
    await gate.pass(`${ctx.flowId} ${name}`);
    this.balance.set(before + 1);
    return deadEnd();
  }
}

@Flow()
class BankFlow {
  static readonly steps = [HoldStep];
  constructor(
    private readonly balance: Balance,
    private readonly accounts: Accounts,
  ) {}

  @Rpc()
  hold(name: string, ctx: RpcContext) {
    ctx.start(HoldStep, name);
  }

  @Rpc({ locks: [Balance] })
  async add(amount: number, ctx: RpcContext) {
    log.add(ctx.flowId, `add ${amount}`);
    const before = this.balance.get() ?? 0;
    if (ctx.flowId.startsWith('gated')) await gate.pass(`${ctx.flowId} add ${amount}`);
    await new Promise(setImmediate);
    this.balance.set(before + amount);
    return before + amount;
  }

  @Rpc({ locks: [Balance], onLockConflict: 'reject' })
  addNow(amount: number) {
    this.balance.set((this.balance.get() ?? 0) + amount);
    return this.balance.get();
  }

  @Rpc({ locks: [{ attribute: Balance, mode: 'shared' }] })
  async look(ctx: RpcContext) {
    log.add(ctx.flowId, 'look');
    await gate.pass(`${ctx.flowId} look`);
    return this.balance.get();
  }

  @Rpc()
  careless() {
    this.balance.set(1);
  }

  @Rpc({ locks: [{ attribute: Accounts, key: '0.account' }] })
  async deposit(request: { account: string; amount: number; other?: string }, ctx: RpcContext) {
    log.add(ctx.flowId, `deposit ${request.account}`);
    await gate.pass(`${ctx.flowId} deposit ${request.account}`);
    const account = request.other ?? request.account;
    this.accounts.set(account, (this.accounts.get(account) ?? 0) + request.amount);
  }
}

const flows = [BankFlow];

describeOnEveryStack('Locks of RPCs', flows, (stack) => {
  const system = stack.shared({ flows });
  const open = async (name = 'bank') => {
    const flowId = fresh(name);
    await system.client.start(BankFlow, flowId, undefined, { attributes: [initially(Balance, 0)] });
    return { flowId, rpc: system.client.rpc(BankFlow, flowId) };
  };
  const waiting = async (flowId: string, count: number) =>
    eventually(async () => {
      const lock = (await system.client.describe(flowId)).locks.find(({ attribute }) => attribute === 'Balance');
      assert.equal(lock?.waiting.length, count);
    });
  const held = async (flowId: string, rpc: { hold(name: string): Promise<void> }, name: string) => {
    await rpc.hold(name);
    await eventually(() => gate.arrived(`${flowId} ${name}`) === 1);
  };

  it('[L5] an RPC waits for its lock, and sees what the holder wrote', async () => {
    const { flowId, rpc } = await open();
    await held(flowId, rpc, 'a');
    const adding = rpc.add(10);
    await waiting(flowId, 1);
    assert.deepEqual(log.of(flowId), ['a']);
    gate.open(`${flowId} a`);
    assert.equal(await adding, 11);
  });

  it('[L5] an RPC that must not wait is rejected at once, and leaves nothing', async () => {
    const { flowId, rpc } = await open();
    await held(flowId, rpc, 'a');
    await refuses(rpc.addNow(10), 'LOCK_CONFLICT', /addNow needs a lock/);
    await waiting(flowId, 0);
    gate.open(`${flowId} a`);
    await system.client.waitForStep(BankFlow, flowId, HoldStep);
    assert.equal(await rpc.addNow(10), 11);
    assert.equal((await eventsOf(system.client, flowId, 'RpcCompleted')).length, 2);
  });

  it('[L5] [R8] an RPC that has not got its lock by its deadline fails, and its lock goes to the next', async () => {
    const { flowId, rpc } = await open();
    await held(flowId, rpc, 'a');
    const short = system.client.rpc(BankFlow, flowId, { deadline: '5s' }).add(10);
    const refused = refuses(short, 'DEADLINE_EXCEEDED', /could not begin/);
    await waiting(flowId, 1);
    const long = rpc.add(100);
    await waiting(flowId, 2);
    await pastDeadline(system, 5_000);
    await refused;
    await waiting(flowId, 1);
    gate.open(`${flowId} a`);
    assert.equal(await long, 101);
  });

  it('[L2] first come, first served among Steps and RPCs', async () => {
    const { flowId, rpc } = await open('gated');
    await held(flowId, rpc, 'a');
    const first = rpc.add(10);
    await waiting(flowId, 1);
    await rpc.hold('b');
    await waiting(flowId, 2);
    const second = rpc.add(20);
    await waiting(flowId, 3);
    gate.open(`${flowId} a`);
    await eventually(() => gate.arrived(`${flowId} add 10`) === 1);
    gate.open(`${flowId} add 10`);
    await first;
    await eventually(() => gate.arrived(`${flowId} b`) === 1);
    assert.equal(gate.arrived(`${flowId} add 20`), 0);
    gate.open(`${flowId} b`);
    gate.open(`${flowId} add 20`);
    assert.equal(await second, 32);
    assert.deepEqual(log.of(flowId), ['a', 'add 10', 'b', 'add 20']);
  });

  it('[L1] shared locks of RPCs go together and exclude an exclusive one', async () => {
    const { flowId, rpc } = await open();
    const looks = [rpc.look(), rpc.look()];
    await eventually(() => gate.arrived(`${flowId} look`) === 2);
    const adding = rpc.add(1);
    await waiting(flowId, 1);
    // One that comes later does not pass the exclusive one.
    const late = rpc.look();
    await waiting(flowId, 2);
    assert.equal(gate.arrived(`${flowId} look`), 2);
    gate.open(`${flowId} look`);
    assert.deepEqual(await Promise.all(looks), [0, 0]);
    assert.equal(await adding, 1);
    assert.equal(await late, 1);
  });

  it('[L1] an RPC that writes a locked Attribute without naming it fails, and writes nothing', async () => {
    const { rpc, flowId } = await open();
    await refuses(rpc.careless(), 'DEFINITION', /without its exclusive lock/);
    assert.equal((await system.client.attributes(BankFlow, flowId)).get(Balance), 0);
    assert.equal((await eventsOf(system.client, flowId, 'RpcCompleted')).length, 0);
  });

  it('[L1] a map is locked by a path into the arguments: other keys go on at the same time', async () => {
    const { flowId, rpc } = await open();
    const deposits = [
      rpc.deposit({ account: 'a', amount: 1 }),
      rpc.deposit({ account: 'b', amount: 2 }),
      rpc.deposit({ account: 'a', amount: 4 }),
    ];
    await eventually(() => gate.arrived(`${flowId} deposit a`) === 1 && gate.arrived(`${flowId} deposit b`) === 1);
    gate.open(`${flowId} deposit a`);
    gate.open(`${flowId} deposit b`);
    await Promise.all(deposits);
    const accounts = (await system.client.attributes(BankFlow, flowId)).entries(Accounts);
    assert.deepEqual(Object.fromEntries(accounts), { a: 5, b: 2 });
    await refuses(rpc.deposit({ account: 'a', amount: 1, other: 'b' }), 'DEFINITION');
    await refuses(rpc.deposit({ amount: 1 } as never), 'DEFINITION', /0\.account/);
  });

  it('[L4] no update is lost among RPCs and Steps that lock', async () => {
    const { flowId, rpc } = await open();
    for (let i = 0; i < 10; i++) gate.open(`${flowId} s${i}`);
    await Promise.all(Array.from({ length: 10 }, (_, i) => [rpc.add(100), rpc.hold(`s${i}`)]).flat());
    for (let number = 1; number <= 10; number++) {
      await system.client.waitForStep(BankFlow, flowId, HoldStep, { number });
    }
    assert.equal((await system.client.attributes(BankFlow, flowId)).get(Balance), 1_010);
    assert.deepEqual((await system.client.describe(flowId)).locks, []);
  });

  it('[S7] without a lock nobody checks: the later of two writes wins', async () => {
    const { flowId, rpc } = await open();
    // Steps hold the lock of Balance; an RPC with `look` reads what was before.
    await held(flowId, rpc, 'a');
    gate.open(`${flowId} a`);
    await system.client.waitForStep(BankFlow, flowId, HoldStep);
    gate.open(`${flowId} look`);
    assert.equal(await rpc.look(), 1);
  });

  it('[L6] no lock is left of calls that were lost with the engine', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('gated');
    await own.client.start(BankFlow, flowId, undefined, { attributes: [initially(Balance, 0)] });
    const lost = own.client
      .rpc(BankFlow, flowId)
      .add(1)
      .catch(() => {});
    await eventually(() => gate.arrived(`${flowId} add 1`) === 1);
    await own.crash();
    await lost;
    assert.deepEqual((await own.client.describe(flowId)).locks, []);
    assert.equal(await own.client.rpc(BankFlow, flowId).addNow(5), 5);
    gate.open(`${flowId} add 1`);
    await own.client.rpc(BankFlow, flowId).hold('after');
    gate.open(`${flowId} after`);
    await own.client.waitForStep(BankFlow, flowId, HoldStep);
    assert.equal((await own.client.attributes(BankFlow, flowId)).get(Balance), 6);
  });
});
