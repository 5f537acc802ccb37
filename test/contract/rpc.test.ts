import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  gracefulComplete,
  Query,
  Rpc,
  RpcContext,
  RpcRejected,
  Step,
  type StepContext,
  Timer,
  to,
  until,
  Validate,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventKinds, eventsOf, refuses, stepStates } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

const log = new Log<unknown>();
const gate = new Gate();

@Attribute()
class Cap extends DurableAttribute<number> {}

@Attribute()
class Seen extends DurableAttribute<string> {}

@Channel()
class Items extends DurableChannel<string> {}

class TooHigh extends Error {
  override readonly name = 'TooHigh';
  constructor(readonly limit: number) {
    super(`The cap is at most ${limit}.`);
  }
}

@Step({ name: 'Sleep' })
class SleepStep {
  waitFor() {
    return until(Timer.after('1d'));
  }
  execute() {
    return deadEnd();
  }
}

/** Reads before and after its first attempt fails; an RPC writes in between. */
@Step({ name: 'Read', retry: { initialInterval: 1 } })
class ReadStep {
  constructor(
    private readonly cap: Cap,
    private readonly items: Items,
  ) {}
  async execute(_input: undefined, ctx: StepContext) {
    log.add(ctx.flowId, { cap: this.cap.get(), items: this.items.peek(), key: ctx.idempotencyKey });
    await gate.pass(`${ctx.flowId} ${ctx.attempt}`);
    if (ctx.attempt === 1) throw new Error('again');
    return gracefulComplete({ cap: this.cap.get(), items: this.items.peek() });
  }
}

@Step({ name: 'Note' })
class NoteStep {
  execute(text: string, ctx: StepContext) {
    log.add(ctx.flowId, { text, from: ctx.from });
    return deadEnd();
  }
}

@Flow()
class ShopFlow {
  static readonly steps = [SleepStep, ReadStep, NoteStep];
  constructor(
    private readonly cap: Cap,
    private readonly items: Items,
  ) {}

  @Rpc()
  setCap(cap: number) {
    const before = this.cap.get();
    this.cap.set(cap);
    return { before, now: this.cap.get() };
  }

  @Validate('setCap')
  protected checkCap(cap: number) {
    if (cap < 0) throw new RpcRejected('The cap cannot be negative.', { cap });
    if (cap > 100) throw new TooHigh(100);
    if (cap === 13) this.cap.set(13);
  }

  @Rpc()
  async everything(text: string, ctx: RpcContext) {
    this.cap.set(7);
    this.items.publish(text);
    ctx.start(NoteStep, text);
    ctx.go(to(NoteStep, `${text} again`));
    ctx.cancel(SleepStep, NoteStep);
    if (text === 'fail') throw new TooHigh(7);
    return { flowId: ctx.flowId, requestId: ctx.requestId, size: this.items.size, first: this.items.peek(1) };
  }

  @Rpc()
  begin(ctx: RpcContext) {
    ctx.start(SleepStep);
    ctx.start(ReadStep);
  }

  @Rpc()
  remove(messageId: string, ctx: RpcContext) {
    ctx.deleteMessage(messageId);
    return this.items.size;
  }

  @Rpc()
  async count(ctx: RpcContext) {
    log.add(ctx.flowId, 'count');
    const cap = (this.cap.get() ?? 0) + 1;
    await gate.pass(`${ctx.flowId} count`);
    this.cap.set(cap);
    return cap;
  }

  @Rpc()
  types(value: unknown) {
    return value as Date;
  }

  @Query()
  contents() {
    return this.items.peek();
  }

  protected helper() {
    return 1;
  }
}

@Flow()
class OtherFlow {
  constructor(private readonly seen: Seen) {}
  @Rpc()
  see() {
    this.seen.set('it');
  }
}

const flows = [ShopFlow, OtherFlow];

describeOnEveryStack('RPC', flows, (stack) => {
  const system = stack.shared({ flows });
  const started = async () => {
    const flowId = fresh('rpc');
    await system.client.start(ShopFlow, flowId);
    return { flowId, rpc: system.client.rpc(ShopFlow, flowId) };
  };
  const capOf = async (flowId: string) => (await system.client.attributes(ShopFlow, flowId)).get(Cap);

  it('[R1] a method marked @Rpc is called by a typed proxy and answers with its value, types kept', async () => {
    const { rpc } = await started();
    assert.deepEqual(await rpc.setCap(5), { before: undefined, now: 5 });
    assert.deepEqual(await rpc.setCap(6), { before: 5, now: 6 });
    const at = new Date(7);
    assert.deepEqual(await rpc.types(at), at);
    assert.deepEqual(await rpc.types(new Map([[1n, new Uint8Array([1])]])), new Map([[1n, new Uint8Array([1])]]));
  });

  it('[R1] what is not marked, not there or not running cannot be called', async () => {
    const { flowId, rpc } = await started();
    await refuses((rpc as any).helper(), 'DEFINITION', /helper is no RPC/);
    await refuses(system.client.rpc(ShopFlow, fresh('none')).setCap(1), 'FLOW_NOT_FOUND');
    await refuses(system.client.rpc(OtherFlow, flowId).see(), 'DEFINITION', /ShopFlow/);
    assert.deepEqual(await eventKinds(system.client, flowId), ['FlowStarted']);
  });

  it('[R3] writes, publishes, starts and cancels of an RPC are saved together, in one write', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('rpc');
    await own.client.start(ShopFlow, flowId);
    await own.client.rpc(ShopFlow, flowId).begin();
    await eventually(async () =>
      assert.deepEqual(await stepStates(own.client, flowId), { 'Sleep-1': 'waiting', 'Read-1': 'running' }),
    );
    own.store.keepBatches = true;
    const rpc = own.client.rpc(ShopFlow, flowId, { requestId: 'all' });
    assert.deepEqual(await rpc.everything('a'), { flowId, requestId: 'all', size: 1, first: ['a'] });
    await own.client.waitForStep(ShopFlow, flowId, NoteStep, { number: 2 });
    const [written] = own.store.batches.filter((batch) => [...batch.keys()].some((key) => key.startsWith('h/')));
    assert.ok(written);
    const kinds = await eventKinds(own.client, flowId);
    const at = kinds.lastIndexOf('RpcCompleted');
    assert.deepEqual(kinds.slice(at, at + 4), ['RpcCompleted', 'StepCancelled', 'StepScheduled', 'StepScheduled']);
    assert.deepEqual(eventsIn(written).slice(0, 4), kinds.slice(at, at + 4));
    // A Step that the call starts is not among those that it cancels.
    const from = { kind: 'rpc', name: 'everything', requestId: 'all' };
    const notes = log.of(flowId).filter((entry) => (entry as { from?: unknown }).from);
    assert.deepEqual(notes, [
      { text: 'a', from },
      { text: 'a again', from },
    ]);
    assert.equal((await own.client.attributes(ShopFlow, flowId)).get(Cap), 7);
    gate.open(`${flowId} 1`);
    gate.open(`${flowId} 2`);
  });

  it('[R5] a thrown error reaches the caller with type and message; nothing is written; the Flow goes on', async () => {
    const { flowId, rpc } = await started();
    const error = await refuses(rpc.everything('fail'), 'RPC_FAILED', /at most 7/);
    assert.deepEqual(
      [(error.cause as Error).name, (error.cause as Error).message],
      ['TooHigh', 'The cap is at most 7.'],
    );
    assert.equal((error.cause as TooHigh).limit, 7);
    assert.deepEqual(await eventKinds(system.client, flowId), ['FlowStarted']);
    assert.equal(await capOf(flowId), undefined);
    assert.equal((await rpc.setCap(1)).now, 1);
  });

  it('[R4] a validator turns a call down with type, message and details, and leaves no event', async () => {
    const { flowId, rpc } = await started();
    const rejected = await refuses(rpc.setCap(-1), 'RPC_REJECTED', /cannot be negative/);
    assert.equal((rejected.cause as Error).name, 'RpcRejected');
    assert.deepEqual((rejected.cause as RpcRejected).details, { cap: -1 });
    const high = await refuses(rpc.setCap(101), 'RPC_REJECTED');
    assert.deepEqual([(high.cause as Error).name, (high.cause as TooHigh).limit], ['TooHigh', 100]);
    await refuses(rpc.setCap(13), 'DEFINITION', /may only read/);
    assert.deepEqual(await eventKinds(system.client, flowId), ['FlowStarted']);
    assert.equal(await capOf(flowId), undefined);
    assert.equal((await rpc.setCap(100)).now, 100);
  });

  it('[R6] a repeat of a saved call gets the saved answer, also after a crash and when nothing runs any more', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('rpc');
    await own.client.start(ShopFlow, flowId);
    const set = (cap: number, requestId: string) => own.client.rpc(ShopFlow, flowId, { requestId }).setCap(cap);
    assert.deepEqual(await set(1, 'one'), { before: undefined, now: 1 });
    assert.deepEqual(await set(2, 'two'), { before: 1, now: 2 });
    assert.deepEqual(await set(1, 'one'), { before: undefined, now: 1 });
    await own.crash();
    assert.deepEqual(await set(1, 'one'), { before: undefined, now: 1 });
    await refuses(set(3, 'one'), 'ID_CONFLICT');
    await own.client.stop(flowId, 'cancel', 'enough');
    assert.deepEqual(await set(2, 'two'), { before: 1, now: 2 });
    await refuses(set(2, 'three'), 'FLOW_NOT_ACTIVE');
    assert.equal((await eventsOf(own.client, flowId, 'RpcCompleted')).length, 2);
  });

  it('[R6] a repeat while the call is open joins it: the handler runs once', async () => {
    const { flowId } = await started();
    const rpc = system.client.rpc(ShopFlow, flowId, { requestId: 'count' });
    const calls = [rpc.count(), rpc.count()];
    await eventually(() => gate.arrived(`${flowId} count`) === 1);
    calls.push(rpc.count());
    await refuses(system.client.rpc(ShopFlow, flowId, { requestId: 'count' }).setCap(1), 'ID_CONFLICT');
    gate.open(`${flowId} count`);
    assert.deepEqual(await Promise.all(calls), [1, 1, 1]);
    assert.deepEqual(log.of(flowId), ['count']);
    assert.equal((await eventsOf(system.client, flowId, 'RpcCompleted')).length, 1);
  });

  it('[R6] rejected and failed calls leave nothing, so that the same id may run again', async () => {
    const { rpc, flowId } = await started();
    const again = system.client.rpc(ShopFlow, flowId, { requestId: 'again' });
    await refuses(again.setCap(-1), 'RPC_REJECTED');
    await refuses(again.everything('fail'), 'RPC_FAILED');
    assert.equal((await again.setCap(4)).now, 4);
    assert.equal((await rpc.setCap(5)).before, 4);
  });

  it('[R6] an engine lost before the answer is saved runs the handler again and applies it once', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('rpc');
    await own.client.start(ShopFlow, flowId);
    const count = () => own.client.rpc(ShopFlow, flowId, { requestId: 'count' }).count();
    const lost = count().catch((error) => error.code);
    await eventually(() => gate.arrived(`${flowId} count`) === 1);
    await own.crash();
    assert.equal(await lost, 'CLOSED');
    gate.open(`${flowId} count`);
    assert.equal(await count(), 1);
    assert.deepEqual(log.of(flowId), ['count', 'count']);
    assert.equal((await own.client.attributes(ShopFlow, flowId)).get(Cap), 1);
  });

  it('[S10] [C4] an RPC deletes unread messages by id; [S6] who saw them before sees them in every attempt', async () => {
    const { flowId, rpc } = await started();
    await rpc.setCap(1);
    for (const id of ['a', 'b', 'c']) {
      await system.client.publish(ShopFlow, flowId, Items, id, { messageId: id });
    }
    await rpc.begin();
    await eventually(() => gate.arrived(`${flowId} 1`) === 1);
    await rpc.remove('b');
    await rpc.remove('no such message');
    await rpc.setCap(2);
    assert.deepEqual(await rpc.contents(), ['a', 'c']);
    gate.open(`${flowId} 1`);
    gate.open(`${flowId} 2`);
    await system.client.waitForStep(ShopFlow, flowId, ReadStep);
    const [first, second] = log.of(flowId) as { cap: number; items: string[]; key: string }[];
    assert.deepEqual([first!.cap, first!.items], [1, ['a', 'b', 'c']]);
    // [S10] The key of all attempts of one call is the same.
    assert.deepEqual(second, first);
    assert.deepEqual(await rpc.contents(), ['a', 'c']);
  });
});
