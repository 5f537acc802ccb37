import assert from 'node:assert/strict';
import { Attribute, DurableAttribute, Flow, goToMany, gracefulComplete, Lock, Step, to } from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf } from '../support/expect';
import { eventsIn } from '../support/observed-store';
import { fresh, Gate } from '../support/observers';
import { withProcesses } from '../support/processes';
import type { Processes } from '../support/stacks';

const gate = new Gate();
/** Where a body waits, the first time that it runs. */
let waitsAt: string | undefined;

@Attribute(Lock.exclusive)
class Balance extends DurableAttribute<number> {}

@Step({ name: 'Pay' })
class PayStep {
  constructor(private readonly balance: Balance) {}

  async execute(amount: number) {
    const before = this.balance.get() ?? 0;
    if (waitsAt !== undefined) {
      const at = waitsAt;
      waitsAt = undefined;
      await gate.pass(at);
    }
    this.balance.set(before + amount);
    return gracefulComplete(amount);
  }
}

@Step({ name: 'Open' })
class OpenStep {
  execute() {
    return goToMany(to(PayStep, 1), to(PayStep, 10));
  }
}

@Flow()
class PayFlow {
  static readonly start = OpenStep;
  static readonly steps = [PayStep];
}

describe('Locks of calls that were handed out and given back', () => {
  const balanceOf = async (system: Processes, flowId: string) =>
    (await system.client.attributes(PayFlow, flowId)).get(Balance);
  const countOf = async (system: Processes, flowId: string, kind: 'LocksReturned' | 'AttemptReturned') =>
    (await eventsOf(system.client, flowId, kind)).length;

  it('[L4][X6] one that nobody has entered gives its locks to those who wait, and then sees what they have written', async () => {
    await using system = await withProcesses([PayFlow]);
    const flowId = fresh('returned');
    const leaving = await system.openWorker({ standing: false, settings: { graceMs: 30_000 } });
    // Has something to end, so that it is still there when it is given more.
    const other = fresh('returned');
    waitsAt = other;
    await system.client.start(PayFlow, other, undefined);
    await eventually(() => gate.arrived(other) === 1);
    let closing: Promise<void> | undefined;
    // The worker is told to go while the start of the first payment is being saved.
    system.store.faults = {
      beforeWrite: (batch) => {
        if (!eventsIn(batch).includes('LocksGranted')) return;
        system.store.faults = {};
        closing = leaving.close();
      },
    };
    await system.client.start(PayFlow, flowId, undefined);
    await eventually(async () => {
      await system.advance(1_000);
      assert.equal(await countOf(system, flowId, 'AttemptReturned'), 1);
    });
    gate.open(other);
    await closing;
    await eventually(async () => {
      await system.advance(1_000);
      assert.equal(await countOf(system, flowId, 'LocksReturned'), 1);
    });
    await system.openWorker();
    await system.client.outputs(PayFlow, flowId);
    assert.equal(await balanceOf(system, flowId), 11);
  });

  it('[L3][X6] one that was entered keeps its locks and what it saw, however long no worker comes', async () => {
    await using system = await withProcesses([PayFlow]);
    const flowId = fresh('returned');
    const leaving = await system.openWorker({ standing: false });
    waitsAt = flowId;
    await system.client.start(PayFlow, flowId, undefined);
    await eventually(() => gate.arrived(flowId) === 1);
    const closing = leaving.close();
    await eventually(async () => {
      await system.advance(1_000);
      assert.equal(await countOf(system, flowId, 'AttemptReturned'), 1);
    });
    await closing;
    await system.advance(60_000);
    assert.equal(await countOf(system, flowId, 'LocksReturned'), 0);
    gate.open(flowId);
    await system.openWorker();
    await system.client.outputs(PayFlow, flowId);
    assert.equal(await balanceOf(system, flowId), 11);
  });
});
