import assert from 'node:assert/strict';
import { Attribute, DurableAttribute, Flow, Lock, Rpc } from '../../index';
import { Client } from '../../lib/client';
import { compile } from '../../lib/compiler';
import type { ShardInbox, ToShard } from '../../lib/dispatch';
import { MemoryDispatch } from '../../lib/dispatch/memory-dispatch';
import { systemClock } from '../../lib/embedded/system-clock';
import { idsBy } from '../../lib/embedded/system-ids';
import { Engine } from '../../lib/engine';
import { InversifyResolver } from '../../lib/inversify';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { Worker } from '../../lib/worker';
import { eventually } from '../support/eventually';
import { Gate } from '../support/observers';
import { turns } from '../support/turns';

let gate: Gate;

@Attribute(Lock.exclusive)
class Balance extends DurableAttribute<number> {}

@Flow()
class BankFlow {
  constructor(private readonly balance: Balance) {}

  @Rpc({ locks: [Balance] })
  async hold() {
    await gate.pass('held');
  }

  @Rpc({ locks: [Balance], onLockConflict: 'reject' })
  add(amount: number) {
    this.balance.set((this.balance.get() ?? 0) + amount);
  }
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Notes which messages the owner has taken, and which of them it has let go. */
class NotedDispatch extends MemoryDispatch {
  readonly taken: ToShard[] = [];
  onLetGo: (message: ToShard) => void = () => {};

  override openInbox(shard: number, onArrival: () => void): ShardInbox {
    const inbox = super.openInbox(shard, onArrival);
    let held: ToShard[] = [];
    return {
      isHeard: true,
      take: (limit) => {
        const messages = inbox.take(limit);
        held.push(...messages);
        this.taken.push(...messages);
        return messages;
      },
      trim: (count) => {
        inbox.trim(count);
        for (const message of held.splice(0, count)) this.onLetGo(message);
      },
      rewind: () => {
        held = [];
        inbox.rewind();
      },
      close: () => inbox.close(),
    };
  }
}

describe('A refusal while a write is under way', () => {
  const ids = idsBy(systemClock);
  let dispatch: NotedDispatch;
  let store: MemoryStateStore;
  let client: Client;
  let close: () => Promise<void>;
  /** What became of the message that is refused. */
  let order: string[];

  beforeEach(async () => {
    gate = new Gate();
    order = [];
    dispatch = new NotedDispatch();
    store = new MemoryStateStore();
    const common = { compiled: compile([BankFlow]), dispatch, clock: systemClock, logger, shards: 1 };
    const engine = new Engine({ ...common, store });
    await engine.open();
    const worker = new Worker({ ...common, process: ids.next(), resolver: new InversifyResolver() });
    await worker.open();
    client = new Client({ ...common, process: ids.next(), ids });
    await client.open();
    close = async () => {
      for (const key of ['written', 'held']) gate.open(key);
      client.close();
      await worker.close();
      await engine.close();
    };
  });

  afterEach(() => close());

  /** A write is under way until the gate opens. */
  async function write(flowId: string): Promise<void> {
    store.faults.beforeWrite = () => gate.pass('written');
    client.start(BankFlow, flowId).catch(() => {});
    await eventually(() => gate.arrived('written') === 1);
  }

  async function isToldInOrder(call: () => Promise<unknown>, isIt: (message: ToShard) => boolean): Promise<void> {
    dispatch.taken.length = 0;
    dispatch.onLetGo = (message) => {
      if (isIt(message)) order.push('let go');
    };
    const told = call().then(
      () => order.push('done'),
      ({ code }) => order.push(code),
    );
    await eventually(() => dispatch.taken.some(isIt));
    await turns(20);
    gate.open('written');
    await told;
    await eventually(() => order.includes('let go'));
  }

  it('[I1] [L5] of a call is told when no successor can carry it out any more', async () => {
    await client.start(BankFlow, 'bank');
    const rpc = client.rpc(BankFlow, 'bank');
    rpc.hold().catch(() => {});
    await eventually(() => gate.arrived('held') === 1);
    await write('other');
    await isToldInOrder(
      () => rpc.add(1),
      (message) => message.kind === 'call' && message.command.rpc === 'add',
    );
    assert.deepEqual(order, ['let go', 'LOCK_CONFLICT']);
  });

  it('[I1] [F4] of a start is told when no successor can carry it out any more', async () => {
    await client.start(BankFlow, 'bank');
    await write('other');
    await isToldInOrder(
      () => client.start(BankFlow, 'bank', undefined, { idReuse: 'ifClosed' }),
      (message) => message.kind === 'request' && message.flowId === 'bank',
    );
    assert.deepEqual(order, ['let go', 'FLOW_ALREADY_EXISTS']);
  });
});
