import assert from 'node:assert/strict';
import { Flow, gracefulComplete, Holdfast, type Logger, Step, type StepContext } from '../../index';
import { MemoryStateStore } from '../../lib/store/memory-state-store';
import { eventually } from '../support/eventually';
import { fresh, Gate } from '../support/observers';
import { describeOnEveryStack, type Processes } from '../support/stacks';

const gate = new Gate();

@Step({ name: 'Wanted' })
class WantedStep {
  async execute(_input: undefined, ctx: StepContext) {
    await gate.pass(ctx.flowId);
    return gracefulComplete('done');
  }
}

@Flow()
class WantedFlow {
  static readonly start = WantedStep;
}

@Step({ name: 'Other' })
class OtherStep {
  execute() {
    return gracefulComplete();
  }
}

@Flow()
class OtherFlow {
  static readonly start = OtherStep;
}

async function blockedIs(system: Processes, flowId: string, steps: string[]): Promise<void> {
  await eventually(async () => assert.deepEqual((await system.client.describe(flowId)).blocked, steps));
}

describeOnEveryStack('Steps that no worker has', [WantedFlow, OtherFlow], (stack) => {
  // In processes of their own workers always look for their work.
  for (const standing of stack.isCluster ? [false] : [true, false]) {
    const how = standing ? 'a worker in the process of the engine' : 'a worker that looks for work by itself';
    it(`[V3] [X12] a Flow without any worker shows as blocked and goes on when one comes: ${how}`, async () => {
      await using system = await stack.processes([WantedFlow]);
      const flowId = fresh('wanted');
      gate.open(flowId);
      await system.client.start(WantedFlow, flowId);
      // Somebody may not have said yet that he is there.
      await blockedIs(system, flowId, []);
      await system.advance(31_000);
      await blockedIs(system, flowId, ['Wanted']);
      await system.openWorker({ standing });
      assert.equal(await system.client.result(WantedFlow, flowId), 'done');
      await blockedIs(system, flowId, []);
    });

    it(`[V3] it is blocked where only others work, and when the last that has it has gone: ${how}`, async () => {
      await using system = await stack.processes([WantedFlow]);
      await system.openWorker({ flows: [OtherFlow], standing });
      const [first, second] = [fresh('wanted'), fresh('wanted')];
      await system.client.start(WantedFlow, first);
      await blockedIs(system, first, ['Wanted']);
      const worker = await system.openWorker({ standing, settings: { slots: 1 } });
      await eventually(() => gate.arrived(first) === 1);
      // It has the Step, and no slot.
      await system.client.start(WantedFlow, second);
      await system.advance(35_000);
      await blockedIs(system, second, []);
      gate.open(first);
      await system.client.result(WantedFlow, first);
      await eventually(() => gate.arrived(second) === 1);
      await worker.close();
      await blockedIs(system, second, ['Wanted']);
    });
  }
});

describe('Steps that no worker has, in numbers', () => {
  it('[V3] [T3] the length of a task queue says how many of its Steps nobody can run', async () => {
    const store = new MemoryStateStore();
    const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
    const before = await Holdfast.open({ flows: [WantedFlow], store, logger, slots: 0 });
    for (const id of ['a', 'b']) await before.client.start(WantedFlow, id);
    assert.deepEqual(
      before.queues.map(({ waiting, blocked }) => [waiting, blocked]),
      [[2, 0]],
    );
    await before.close();
    const after = await Holdfast.open({ flows: [OtherFlow], store, logger });
    await eventually(() => after.queues[0]?.blocked === 2);
    assert.deepEqual((await after.client.describe('a')).blocked, ['Wanted']);
    await after.close();
  });
});
