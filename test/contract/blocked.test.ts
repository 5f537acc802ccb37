import assert from 'node:assert/strict';
import { Flow, gracefulComplete, Step, type StepContext } from '../../index';
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
