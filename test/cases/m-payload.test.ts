import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  continueAsNew,
  DurableAttributeMap,
  DurableChannel,
  Flow,
  gracefulComplete,
  Step,
  type StepContext,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { eventsOf } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

const log = new Log<string>();
const KiB = 1024;
const MiB = 1024 * KiB;

@Step({ name: 'Output', onFailure: () => TooLargeStep })
class OutputStep {
  execute(bytes: number, ctx: StepContext) {
    log.add(ctx.flowId, `attempt ${ctx.attempt}`);
    return gracefulComplete('x'.repeat(bytes));
  }
}

@Step({ name: 'TooLarge' })
class TooLargeStep {
  execute(_bytes: number, ctx: StepContext) {
    const { failure } = ctx.recovery!;
    return gracefulComplete(`${failure.name} ${failure.code}`);
  }
}

@Flow()
class OutputFlow {
  static readonly start = OutputStep;
  static readonly steps = [TooLargeStep];
}

@Step({ name: 'Text' })
class TextStep {
  execute(text: string) {
    return gracefulComplete(text.length);
  }
}

@Flow()
class TextFlow {
  static readonly start = TextStep;
}

@Attribute()
class Pages extends DurableAttributeMap<string> {}

@Channel()
class Parcels extends DurableChannel<string> {}

@Channel()
class Turns extends DurableChannel<string> {}

const page = (i: number) => `${i} `.padEnd(64 * KiB, 'p');
const parcel = (i: number) => `${i} `.padEnd(16 * KiB, 'q');

@Step({ name: 'Turn' })
class TurnStep {
  constructor(
    private readonly turns: Turns,
    readonly parcels: Parcels,
  ) {}
  waitFor(_round: number) {
    return until(this.turns.take(1));
  }
  execute(round: number) {
    return continueAsNew(LargeFlow, round + 1);
  }
}

@Flow()
class LargeFlow {
  static readonly start = TurnStep;
  constructor(readonly pages: Pages) {}
}

describeOnEveryStore('Payload size', (stack) => {
  it('[C44] outputs up to the limit are kept; one above it fails its Step once, with its type', async () => {
    const system = await stack.open({ flows: [OutputFlow, TextFlow] });
    for (const bytes of [KiB, MiB, Math.floor(3.9 * MiB)]) {
      const flowId = fresh('output');
      await system.client.start(OutputFlow, flowId, bytes);
      assert.equal((await system.client.result(OutputFlow, flowId)).length, bytes);
    }
    const flowId = fresh('output');
    await system.client.start(OutputFlow, flowId, 20 * MiB);
    assert.equal(await system.client.result(OutputFlow, flowId), 'PayloadTooLargeError PAYLOAD_TOO_LARGE');
    assert.deepEqual(log.of(flowId), ['attempt 1']);
    const [failed] = await eventsOf(system.client, flowId, 'StepFailed');
    assert.equal(failed!.fields.execution, 'Output-1');
    await system.crash();
    assert.equal((await system.client.describe(flowId)).status, 'completed');
    const tooLarge = system.client.start(TextFlow, fresh('text'), 'x'.repeat(5 * MiB));
    await assert.rejects(tooLarge, { code: 'PAYLOAD_TOO_LARGE' });
  });

  it('[C44] a state far above the limit of one payload goes over continue-as-new', async () => {
    const system = await stack.open({ flows: [LargeFlow] });
    const flowId = fresh('large');
    const { client } = system;
    const attributes = Array.from({ length: 150 }, (_, i) => ({ attribute: Pages, key: `${i}`, value: page(i) }));
    await client.start(LargeFlow, flowId, 0, { attributes });
    const parcels = Array.from({ length: 250 }, (_, i) => ({ channel: Parcels, value: parcel(i) }));
    for (let i = 0; i < parcels.length; i += 50) await client.publishAll(LargeFlow, flowId, parcels.slice(i, i + 50));
    const { runId } = await client.describe(flowId);
    await client.publish(LargeFlow, flowId, Turns, 'turn');
    await eventually(async () => {
      const next = await client.describe(flowId);
      assert.notEqual(next.runId, runId);
      assert.equal(next.steps[0]?.state, 'waiting');
    });
    await system.crash();
    const description = await system.client.describe(flowId);
    assert.equal(description.unread.find(({ channel }) => channel === 'Parcels')?.messages, 250);
    const pages = (await system.client.attributes(LargeFlow, flowId)).entries(Pages);
    assert.equal(pages.size, 150);
    for (const [key, value] of pages) assert.equal(value, page(Number(key)));
    const again = (await system.client.describe(flowId)).runId;
    await system.client.publish(LargeFlow, flowId, Turns, 'turn');
    await eventually(async () => assert.notEqual((await system.client.describe(flowId)).runId, again));
    assert.equal((await system.client.attributes(LargeFlow, flowId)).entries(Pages).size, 150);
  });
});
