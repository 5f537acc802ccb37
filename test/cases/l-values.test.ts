import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  type HoldfastError,
  initially,
  Rpc,
  Step,
  type StepContext,
  until,
} from '../../index';
import { encodeRecord, type Failure } from '../../lib/values';
import { eventually } from '../support/eventually';
import { failureOf } from '../support/expect';
import { fresh } from '../support/observers';
import { describeOnEveryStore } from '../support/stacks';

type Big = bigint | { a: bigint[] };

@Attribute()
class Kept extends DurableAttribute<Big> {}

@Channel()
class Bigs extends DurableChannel<Big> {}

@Step({ name: 'Take', retry: { initialInterval: 1 } })
class TakeStep {
  constructor(
    private readonly kept: Kept,
    private readonly bigs: Bigs,
  ) {}
  waitFor(_input: Big) {
    return until(this.bigs.take(1));
  }
  execute(input: Big) {
    return goTo(GiveStep, [input, this.kept.get()!, ...this.bigs.received()]);
  }
}

@Step({ name: 'Give', retry: { initialInterval: 1 } })
class GiveStep {
  execute(values: Big[]) {
    return gracefulComplete(values);
  }
}

@Flow()
class BigFlow {
  static readonly start = TakeStep;
  static readonly steps = [GiveStep];
  constructor(private readonly kept: Kept) {}

  @Rpc()
  swap(value: Big) {
    const before = this.kept.get();
    this.kept.set(value);
    return { before, value };
  }
}

class AppError extends Error {
  readonly code = 'E_APP';
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'AppError';
  }
}

/** What is thrown, by name. */
const throws: Record<string, () => unknown> = {
  'an error with a code and a cause': () => new AppError('app failed', new TypeError('deep')),
  'an AggregateError': () => new AggregateError([new RangeError('one'), new Error('two')], 'several'),
  'an error with a circular property': () => {
    const error = new Error('circle') as Error & { self?: unknown };
    error.self = { error, list: [error] };
    return error;
  },
  'an error that causes itself': () => {
    const error = new Error('own cause') as Error & { cause?: unknown };
    error.cause = error;
    return error;
  },
  'an error with a 5 MB message': () => new Error('m'.repeat(5_000_000)),
  'an error whose getter throws': () =>
    Object.defineProperty(new Error('getter'), 'details', {
      enumerable: true,
      get: () => {
        throw new Error('unreadable');
      },
    }),
  undefined: () => undefined,
  'a string': () => 'just text',
  null: () => null,
  'a plain object': () => ({ reason: 'none', nested: { deep: 1n } }),
  'a proxy that refuses everything': () =>
    new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
        ownKeys: () => {
          throw new Error('no');
        },
        getPrototypeOf: () => {
          throw new Error('no');
        },
      },
    ),
};

const causes = new Map<string, Failure>();

@Step({ name: 'Thrower', retry: { maximumAttempts: 2, initialInterval: 1 }, onFailure: () => AfterStep })
class ThrowerStep {
  execute({ what }: { what: string; recover: boolean }, ctx: StepContext): never | Promise<never> {
    const thrown = throws[what]!();
    if (ctx.attempt === 2) throw thrown;
    return Promise.reject(thrown);
  }
}

@Step({ name: 'After', retry: { maximumAttempts: 1 } })
class AfterStep {
  execute({ recover }: { what: string; recover: boolean }, ctx: StepContext) {
    causes.set(ctx.flowId, ctx.recovery!.failure);
    if (!recover) throw throws['an error with a code and a cause']!();
    return gracefulComplete(ctx.recovery!.attempts);
  }
}

@Flow()
class ThrowerFlow {
  static readonly start = ThrowerStep;
  static readonly steps = [AfterStep];
}

describeOnEveryStore('Values and errors that do not serialise', (stack) => {
  it('[C41] BigInts of any size stay what they are, everywhere and over crashes', async () => {
    const system = await stack.open({ flows: [BigFlow] });
    for (const value of [10n, { a: [10n] }, 2n ** 200n, -(2n ** 64n), 2n ** 63n] as Big[]) {
      const flowId = fresh('big');
      const { client } = system;
      await client.start(BigFlow, flowId, value, { attributes: [initially(Kept, 1n)] });
      assert.deepEqual(await client.rpc(BigFlow, flowId).swap(value), { before: 1n, value });
      await eventually(async () => assert.equal((await client.describe(flowId)).steps[0]!.state, 'waiting'));
      await system.crash();
      assert.deepEqual((await system.client.attributes(BigFlow, flowId)).get(Kept), value);
      await system.client.publish(BigFlow, flowId, Bigs, value);
      assert.deepEqual(await system.client.result(BigFlow, flowId), [value, value, value]);
      await system.crash();
      assert.deepEqual(await system.client.outputs(BigFlow, flowId), [
        { stepExecutionId: 'Give-1', value: [value, value, value] },
      ]);
      const history = await system.client.history(flowId);
      const [published] = history.filter(({ kind }) => kind === 'MessagePublished');
      assert.deepEqual(published!.fields.value, value);
      assert.equal((await system.client.describe(flowId)).status, 'completed');
    }
  });

  it('[C43] whatever is thrown is recorded, retried by the policy, and harms nobody else', async () => {
    const system = await stack.open({ flows: [ThrowerFlow] });
    for (const what of Object.keys(throws)) {
      const flowId = fresh('thrower');
      await system.client.start(ThrowerFlow, flowId, { what, recover: true });
      assert.equal(await system.client.result(ThrowerFlow, flowId), 2, what);
      const stored = causes.get(flowId)!;
      assert.ok(typeof stored.name === 'string' && typeof stored.message === 'string', what);
      assert.ok(encodeRecord(stored).length < 64_000, what);
      assert.ok((await system.client.history(flowId)).length > 0, what);
    }
  });

  it('[C43] name, code, stack, causes and members can be read in recovery Steps and by clients', async () => {
    const system = await stack.open({ flows: [ThrowerFlow] });
    const [single, several] = [fresh('thrower'), fresh('thrower')];
    await system.client.start(ThrowerFlow, single, { what: 'an error with a code and a cause', recover: false });
    await system.client.start(ThrowerFlow, several, { what: 'an AggregateError', recover: true });
    const { cause } = await failureOf(system.client, ThrowerFlow, single);
    for (const each of [cause as HoldfastError, causes.get(single) as unknown as HoldfastError]) {
      assert.deepEqual([each.name, each.message, each.code], ['AppError', 'app failed', 'E_APP']);
      assert.match(each.stack!, /l-values/);
      assert.deepEqual([(each.cause as Error).name, (each.cause as Error).message], ['TypeError', 'deep']);
    }
    await system.client.result(ThrowerFlow, several);
    const members = causes.get(several)!.errors!.map(({ name, message }) => [name, message]);
    assert.deepEqual(members, [
      ['RangeError', 'one'],
      ['Error', 'two'],
    ]);
  });
});
