import assert from 'node:assert/strict';
import { compile, Flow, goTo, gracefulComplete, Step, type StepContext } from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const bodies = new Log();
const modes = [undefined, 'SYNC', 'ASYNC'] as const;
type Mode = (typeof modes)[number];

function flowOf(step: Mode, flow: Mode) {
  const name = `${step ?? 'unset'}In${flow ?? 'unset'}`;

  @Step({ name: 'Effect', ...(step && { durability: step }), retry: { initialInterval: 1 } })
  class EffectStep {
    execute(_input: undefined, ctx: StepContext) {
      bodies.add(ctx.flowId, 'effect');
      return goTo(SeenStep);
    }
  }

  /** Begins only after the effect is visible to the Flow. */
  @Step({ name: 'Seen', durability: 'SYNC', retry: { initialInterval: 1 } })
  class SeenStep {
    execute(_input: undefined, ctx: StepContext) {
      bodies.add(ctx.flowId, 'seen');
      return gracefulComplete(name);
    }
  }

  @Flow({ name, ...(flow && { durability: flow }) })
  class ModeFlow {
    static readonly start = EffectStep;
    static readonly steps = [SeenStep];
  }
  return { ModeFlow, resolved: step ?? flow ?? 'SYNC' };
}

const table = modes.flatMap((step) => modes.map((flow) => ({ step, flow, ...flowOf(step, flow) })));
const flows = table.map(({ ModeFlow }) => ModeFlow);

describeOnEveryStore('Durability mode', (stack) => {
  const system = stack.shared({ flows });

  for (const { step, flow, ModeFlow, resolved } of table) {
    it(`[C48] a Step ${step ?? 'unset'} in a Flow ${flow ?? 'unset'} is ${resolved}, and can be seen to be`, async () => {
      const { plan } = compile([ModeFlow]).flowOf(ModeFlow as never)!;
      assert.equal(plan.steps.Effect!.execute.durability ?? plan.config.durability, resolved);
      const flowId = fresh('mode');
      await system.client.start(ModeFlow, flowId);
      // The process dies as soon as the body has returned.
      await eventually(() => assert.ok(bodies.count(flowId, 'effect') > 0));
      await system.crash();
      await system.client.result(ModeFlow, flowId);
      const started = await eventsOf(system.client, flowId, 'AttemptStarted');
      const modesSeen = started
        .filter(({ fields }) => fields.execution === 'Effect-1')
        .map((each) => each.fields.durability);
      assert.deepEqual(new Set(modesSeen), new Set([resolved]));
      assert.equal((await system.client.describe(flowId)).config.durability, flow ?? 'SYNC');
      if (resolved === 'SYNC') {
        // Once its result was saved, and so seen, it never runs again.
        const seenAt = bodies.of(flowId).indexOf('seen');
        assert.equal(bodies.of(flowId).slice(seenAt).includes('effect'), false, bodies.of(flowId).join());
      }
    });
  }
});
