import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  type Codec,
  CompileError,
  compile,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  deadEnd,
  Flow,
  type FlowClass,
  goTo,
  gracefulComplete,
  HoldfastError,
  Step,
  type StepContext,
} from '../../index';
import { eventually } from '../support/eventually';
import { failureOf } from '../support/expect';
import { fresh, Gate, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

@Attribute()
class Value extends DurableAttribute<unknown> {}

@Attribute()
class Entries extends DurableAttributeMap<unknown> {}

class Money {
  constructor(
    readonly amount: bigint,
    readonly currency: string,
  ) {}
}

const moneyCodec: Codec<Money> = {
  name: 'money-1',
  encode: ({ amount, currency }) => [amount, currency],
  decode: (stored) => new Money(...(stored as [bigint, string])),
};

@Attribute({ codec: moneyCodec })
class Price extends DurableAttribute<Money> {}

const positive = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof value === 'number' && value > 0 ? { value } : { issues: [{ message: 'must be positive', path: ['n'] }] },
  },
};

@Attribute({ schema: positive })
class Count extends DurableAttribute<number> {}

@Channel()
class Pings extends DurableChannel<string> {}

type Use = (own: AttributeStep, ctx: StepContext) => unknown;

const seen = new Log<unknown>();
const errors = new Log<{ readonly code: string; readonly message: string; readonly fix: string }>();
const gate = new Gate();

interface Input {
  /** A key of `uses`. */
  readonly use: string;
  readonly step: number;
}

/** Does one thing after the other, each in an execution of its own. */
@Step({ retry: { maximumAttempts: 2, initialInterval: 1 } })
class AttributeStep {
  constructor(
    readonly value: Value,
    readonly entries: Entries,
    readonly price: Price,
    readonly count: Count,
    readonly pings: Pings,
  ) {}

  async execute({ use, step }: Input, ctx: StepContext) {
    const own = uses[use]!;
    const output = await own[step]!(this, ctx);
    return step + 1 < own.length ? goTo(AttributeStep, { use, step: step + 1 }) : gracefulComplete(output as string);
  }
}

@Flow()
class AttributeFlow {
  static readonly start = AttributeStep;
}

@Step()
class StrangerStep {
  constructor(private readonly pings: Pings) {}

  execute(touch: boolean) {
    void this.pings;
    if (touch) new Value().get();
    return deadEnd();
  }
}

@Flow()
class TwoStepFlow {
  static readonly start = StrangerStep;
  static readonly steps = [AttributeStep];
}

const flows = [AttributeFlow, TwoStepFlow];

const cycle: unknown[] = [];
cycle.push({ inner: cycle });

const kept: Record<string, unknown> = {
  string: 'h\u0000ä🚀',
  'lone surrogate': '\ud800',
  number: 1.5,
  zero: -0,
  NaN: Number.NaN,
  infinity: Number.NEGATIVE_INFINITY,
  'largest integer': Number.MAX_SAFE_INTEGER,
  boolean: false,
  null: null,
  bigint: -(2n ** 200n),
  Date: new Date(1_234_567_890_123),
  Map: new Map<unknown, unknown>([
    ['a', 1],
    [2, new Map([[new Date(0), 1n]])],
  ]),
  Set: new Set([1, 'one', null]),
  Uint8Array: new Uint8Array([0, 255, 7]),
  Buffer: Buffer.from('bytes'),
  nested: { list: [1, [2n, { deep: new Set([new Date(5)]) }]], empty: {}, undefined: undefined },
  '__proto__ as a key': JSON.parse('{"__proto__": 1, "constructor": 2}'),
};

const refused: Record<string, readonly [value: unknown, message: RegExp]> = {
  function: [{ a: [1, () => 1] }, /Value\.a\[1\] cannot be stored: it is a function/],
  symbol: [{ s: Symbol('s') }, /Value\.s cannot be stored: it is a symbol/],
  instance: [[new Money(1n, 'EUR')], /Value\[0\] cannot be stored: it is an instance of Money/],
  cycle: [cycle, /Value\[0\]\.inner cannot be stored: it is a cycle/],
  promise: [Promise.resolve(1), /Value cannot be stored: it is an instance of Promise/],
  error: [{ e: new Error('x') }, /Value\.e cannot be stored: it is an instance of Error/],
  'in a Map': [new Map([['k', () => 1]]), /Value.*k.*function/],
};

function look({ value, entries }: AttributeStep, ctx: StepContext): void {
  for (const each of [value.get(), ...entries.keys().map((key) => entries.get(key))]) seen.add(ctx.flowId, each);
}

function lookAtMap({ entries }: AttributeStep, ctx: StepContext): void {
  seen.add(ctx.flowId, [entries.size, entries.keys().sort(), entries.get('b')]);
}

function noteError(ctx: StepContext, use: () => unknown): void {
  try {
    use();
    errors.add(ctx.flowId, { code: 'NONE', message: 'it did not throw', fix: '' });
  } catch (error) {
    const { code, message, fix } = error as HoldfastError;
    errors.add(ctx.flowId, { code, message, fix });
  }
}

/** What the Steps do, by the name that a test gives as input. */
const uses: Record<string, readonly Use[]> = {
  'write and read': [({ value }) => value.set('x'), ({ value }) => value.get()],
  'stage and see': [
    ({ value }, ctx) => {
      seen.add(ctx.flowId, value.get());
      value.set(1);
      seen.add(ctx.flowId, value.get());
      value.delete();
      seen.add(ctx.flowId, value.get());
      value.set(null);
      seen.add(ctx.flowId, value.get());
    },
    ({ value }, ctx) => {
      seen.add(ctx.flowId, value.get());
      value.delete();
    },
    ({ value }, ctx) => seen.add(ctx.flowId, value.get()),
  ],
  'stage and see a map': [
    (own, ctx) => {
      lookAtMap(own, ctx);
      for (const key of ['a', 'b', 'c', '', '🚀', '__proto__']) own.entries.set(key, `value ${key}`);
      own.entries.delete('c');
      lookAtMap(own, ctx);
    },
    (own, ctx) => {
      lookAtMap(own, ctx);
      own.entries.set('c', 1);
      own.entries.delete('a');
      assert.equal(own.entries.has('c'), true);
      assert.equal(own.entries.has('a'), false);
      lookAtMap(own, ctx);
    },
    lookAtMap,
  ],
  'set undefined': [({ value }, ctx) => noteError(ctx, () => value.set(undefined))],
  'set undefined in a map': [({ entries }, ctx) => noteError(ctx, () => entries.set('k', undefined))],
  keep: [
    ({ value, entries }) => {
      value.set(kept);
      for (const [key, each] of Object.entries(kept)) entries.set(key, each);
    },
    look,
    (_own, ctx) => gate.pass(ctx.flowId),
    look,
  ],
  ...Object.fromEntries(
    Object.entries(refused).map(([title, [value]]): [string, Use[]] => [
      `refuse ${title}`,
      [
        (own, ctx) => {
          own.value.set('before');
          noteError(ctx, () => own.value.set(value));
        },
        ({ value: own }) => own.get(),
      ],
    ]),
  ),
  codec: [
    ({ price }) => price.set(new Money(5n, 'EUR')),
    ({ price }) => assert.deepStrictEqual(price.get(), new Money(5n, 'EUR')),
  ],
  schema: [
    ({ count }, ctx) => {
      count.set(3);
      noteError(ctx, () => count.set(-3));
    },
  ],
  'forget an await': [
    ({ value, entries, pings }, ctx) => {
      value.set('in time');
      const late = async () => {
        await gate.pass(ctx.flowId);
        noteError(ctx, () => value.set('late'));
        noteError(ctx, () => value.get());
        noteError(ctx, () => entries.set('k', 'late'));
        noteError(ctx, () => pings.publish('late'));
        noteError(ctx, () => ctx.recordEvent('late'));
        noteError(ctx, () => ctx.heartbeat('late'));
      };
      late();
    },
    async (_own, ctx) => {
      gate.open(ctx.flowId);
      await eventually(() => errors.of(ctx.flowId).length === 6);
    },
    ({ value }) => value.get(),
  ],
};

describeOnEveryStack('Attribute', flows, (stack) => {
  const system = stack.shared({ flows });

  const run = async (use: string) => {
    const flowId = fresh('attribute');
    await system.client.start(AttributeFlow, flowId, { use, step: 0 });
    return { flowId, output: await system.client.result(AttributeFlow, flowId) };
  };

  it('[A1] a Step reads and writes what its constructor takes, and nothing else', async () => {
    assert.equal((await run('write and read')).output, 'x');
    const flowId = fresh('stranger');
    await system.client.start(TwoStepFlow, flowId, true);
    const error = await failureOf(system.client, TwoStepFlow, flowId);
    assert.equal(error.failKind, 'definition');
    assert.match(error.message, /StrangerStep does not take Value in its constructor/);
  });

  it('[A1] a class that is marked and does not extend DurableAttribute, or extends it unmarked, is refused', () => {
    // @ts-expect-error not an Attribute
    @Attribute()
    class Plain {}
    class Unmarked extends DurableAttribute<string> {}
    for (const type of [Plain, Unmarked]) {
      class Uses {
        execute() {
          return deadEnd();
        }
      }
      Reflect.defineMetadata('design:paramtypes', [type], Uses);
      Step()(Uses);
      class Takes {
        static readonly start = Uses;
      }
      Flow()(Takes);
      assert.throws(() => compile([Takes as FlowClass]), CompileError, type.name);
    }
  });

  it('[A2] get, set and delete, with the own staged writes seen at once', async () => {
    const { flowId } = await run('stage and see');
    assert.deepEqual(seen.of(flowId), [undefined, 1, undefined, null, null, undefined]);
  });

  it('[A2] maps by key: get, has, set, delete, keys and size', async () => {
    const { flowId } = await run('stage and see a map');
    const first = [5, ['', '__proto__', 'a', 'b', '🚀'], 'value b'];
    const second = [5, ['', '__proto__', 'b', 'c', '🚀'], 'value b'];
    assert.deepEqual(seen.of(flowId), [[0, [], undefined], first, first, second, second]);
  });

  it('[A2] set(undefined) is refused with the hint to delete', async () => {
    for (const use of ['set undefined', 'set undefined in a map']) {
      const { flowId } = await run(use);
      const [error] = errors.of(flowId);
      assert.equal(error!.code, 'DEFINITION');
      assert.match(error!.fix, /delete\(\)/);
    }
  });

  it('[A3] values come back with their type, to Steps and to the client, also after a crash', async () => {
    const own = await stack.open({ flows });
    const flowId = fresh('kept');
    await own.client.start(AttributeFlow, flowId, { use: 'keep', step: 0 });
    await eventually(() => gate.arrived(flowId) === 1);
    await own.crash();
    const values = await own.client.attributes(AttributeFlow, flowId);
    assert.deepStrictEqual([values.get(Value), ...values.entries(Entries).values()], [kept, ...Object.values(kept)]);
    gate.open(flowId);
    await own.client.result(AttributeFlow, flowId);
    const once = [kept, ...Object.values(kept)];
    assert.deepStrictEqual(seen.of(flowId), [...once, ...once]);
  });

  for (const [title, [, message]] of Object.entries(refused)) {
    it(`[A3] set refuses what cannot be kept and names its path: ${title}`, async () => {
      const { flowId, output } = await run(`refuse ${title}`);
      assert.equal(output, 'before');
      const [error] = errors.of(flowId);
      assert.equal(error!.code, 'VALUE_NOT_STORABLE');
      assert.match(error!.message, message);
    });
  }

  it('[A3] a codec keeps instances', async () => {
    const { flowId } = await run('codec');
    const values = await system.client.attributes(AttributeFlow, flowId);
    assert.deepStrictEqual(values.get(Price), new Money(5n, 'EUR'));
  });

  it('[A3] a schema is checked on set', async () => {
    const { flowId } = await run('schema');
    assert.match(errors.of(flowId)[0]!.message, /Count does not fit its schema: n: must be positive/);
    assert.equal((await system.client.attributes(AttributeFlow, flowId)).get(Count), 3);
  });

  it('[A6] use outside of an invocation throws a clear error', () => {
    const [value, entries, pings] = [new Value(), new Entries(), new Pings()];
    const all: (() => unknown)[] = [
      () => value.get(),
      () => value.set(1),
      () => value.delete(),
      () => entries.get('k'),
      () => entries.has('k'),
      () => entries.set('k', 1),
      () => entries.delete('k'),
      () => entries.keys(),
      () => entries.size,
      () => pings.publish('x'),
      () => pings.received(),
      () => pings.size,
      () => pings.peek(),
    ];
    for (const use of all) {
      assert.throws(use, (error) => {
        assert.ok(error instanceof HoldfastError);
        assert.equal(error.code, 'OUTSIDE_INVOCATION');
        assert.match(error.message, /outside of waitFor, execute or an RPC/);
        return true;
      });
    }
  });

  it('[A6] a forgotten await that goes on after the invocation throws, and changes nothing', async () => {
    const { flowId, output } = await run('forget an await');
    assert.equal(output, 'in time');
    assert.equal(errors.of(flowId).length, 6);
    for (const error of errors.of(flowId)) {
      assert.equal(error.code, 'OUTSIDE_INVOCATION', error.message);
      assert.match(error.message, /had ended: is an await missing/);
    }
    const values = await system.client.attributes(AttributeFlow, flowId);
    assert.deepEqual([values.get(Value), values.entries(Entries).size], ['in time', 0]);
    assert.deepEqual((await system.client.describe(flowId)).unread, []);
  });
});
