import assert from 'node:assert/strict';
import {
  Attribute,
  anyCombinationOf,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  retryAfter,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { eventsOf, failureOf } from '../support/expect';
import { fresh, Log } from '../support/observers';
import { describeOnEveryStack } from '../support/stacks';

@Attribute()
class Kept extends DurableAttribute<unknown> {}

@Attribute()
class Foreign extends DurableAttribute<number> {}

@Channel()
class Inbox extends DurableChannel<unknown> {}

@Channel()
class ForeignChannel extends DurableChannel<number> {}

@Step()
class ForeignStep {
  execute() {
    return gracefulComplete();
  }
}

class Money {
  constructor(readonly cents: number) {}
}

const cycle: Record<string, unknown> = {};
cycle.self = { back: cycle };
const large = 'x'.repeat(4 * 1024 * 1024 + 1);
const attempts = new Log<number>();

type Mistake = (own: { kept: Kept; inbox: Inbox; ctx: StepContext }) => unknown;

/** What a method must not do, and what the failure must say. */
const inExecute: Record<string, readonly [Mistake, RegExp]> = {
  'returns nothing': [() => undefined, /execute returned undefined; expected a Decision/],
  'returns null': [() => null, /execute returned null; expected a Decision/],
  'returns a number': [() => 42, /execute returned the number 42; expected a Decision/],
  'returns a plain object': [() => ({ kind: 'goTo' }), /execute returned a plain object; expected a Decision/],
  'returns an instance': [() => new Money(1), /execute returned an instance of Money; expected a Decision/],
  'returns a class': [() => ForeignStep, /execute returned the function ForeignStep; expected a Decision/],
  'returns a Wait': [() => until(Timer.after(1)), /execute returned a Wait; expected a Decision/],
  'goes to a Step the Flow lacks': [() => goTo(ForeignStep), /ForeignStep.*WrongFlow does not have/],
  'goes to no Step at all': [() => goTo(undefined as never), /goTo was given undefined instead of a Step class/],
  'goes to an empty goToMany': [() => goToMany([]), /goToMany was given no movement/],
  'cancels a Step the Flow lacks': [() => gracefulComplete().cancelling(ForeignStep), /ForeignStep/],
  'reads an Attribute the Flow lacks': [() => new Foreign().get(), /does not take Foreign in its constructor/],
  'writes an Attribute the Flow lacks': [() => new Foreign().set(1), /does not take Foreign in its constructor/],
  'publishes to a Channel the Flow lacks': [() => new ForeignChannel().publish(1), /does not take ForeignChannel/],
  'sets undefined': [({ kept }) => kept.set(undefined), /Kept\.set\(\) was given undefined/],
  'sets a function': [({ kept }) => kept.set({ a: [() => 1] }), /Kept\.a\[0\] cannot be stored: it is a function/],
  'sets a cycle': [({ kept }) => kept.set(cycle), /Kept\.self\.back cannot be stored: it is a cycle/],
  'sets an instance': [({ kept }) => kept.set({ price: new Money(1) }), /Kept\.price.*an instance of Money/],
  'publishes a symbol': [({ inbox }) => inbox.publish(Symbol('x')), /message for Inbox cannot be stored.*symbol/],
  'sets too large a value': [({ kept }) => kept.set(large), /Kept takes .*bytes; the limit is 4194304 bytes/],
  'publishes too large a value': [({ inbox }) => inbox.publish(large), /message for Inbox takes/],
  'gives too large an output': [() => gracefulComplete(large), /output takes/],
  'gives an output that cannot be kept': [() => gracefulComplete(new Money(1) as never), /output cannot be stored/],
  'gives an input that cannot be kept': [() => goTo(WrongStep, (() => 1) as never), /input of Wrong cannot/],
  'sets a local': [({ ctx }) => ctx.locals.set('x', 1), /only waitFor can/],
  'gives a negative back-off': [() => Promise.reject(retryAfter(-1)), /retryAfter: -1 is not a duration/],
  'gives an endless back-off': [() => Promise.reject(retryAfter(Number.POSITIVE_INFINITY)), /retryAfter: Infinity/],
  'gives a bad timeout to a movement': [
    () => goTo(WrongStep, 'x').with({ timeout: '-5s' }),
    /timeout.*'-5s'|'-5s'.*timeout|-5s/s,
  ],
};

const inWaitFor: Record<string, readonly [Mistake, RegExp]> = {
  'returns nothing': [() => undefined, /waitFor returned undefined; expected a Wait/],
  'returns a Decision': [() => gracefulComplete(), /waitFor returned a Decision; expected a Wait/],
  'returns a condition': [() => Timer.after(1), /waitFor returned a plain object; expected a Wait/],
  'waits for a Channel the Flow lacks': [() => until(new ForeignChannel().take(1)), /Channel ForeignChannel/],
  'waits for nothing': [() => anyOf(), /anyOf was given no condition/],
  'waits for combinations without ids': [({ inbox }) => anyCombinationOf([inbox.take(1)]), /without an id/],
  'takes -1 messages': [({ inbox }) => until(inbox.take(-1)), /Inbox\.take was given -1/],
  'waits for -1 ms': [() => until(Timer.after(-1)), /Timer\.after: -1 is not a duration/],
  'waits for NaN ms': [() => until(Timer.after(Number.NaN)), /Timer\.after: NaN is not a duration/],
  'waits for ever': [() => until(Timer.after(Number.POSITIVE_INFINITY)), /Timer\.after: Infinity is not a duration/],
  'waits for a text': [() => until(Timer.after('soon')), /Timer\.after: 'soon' is not a duration/],
  'waits until an invalid Date': [() => until(Timer.at(new Date('x'))), /Timer\.at: an invalid Date/],
  'sets a local that cannot be kept': [({ ctx }) => ctx.locals.set('l', Symbol('x')), /local l cannot be stored/],
};

@Step({ name: 'Wrong' })
class WrongStep {
  constructor(
    private readonly kept: Kept,
    private readonly inbox: Inbox,
  ) {}

  waitFor(mistake: string, ctx: StepContext) {
    this.kept.set('by waitFor');
    const [make] = inWaitFor[mistake.slice('waitFor '.length)] ?? [];
    if (mistake.startsWith('execute')) return until(Timer.after(0));
    return this.make(make!, ctx) as never;
  }
  async execute(mistake: string, ctx: StepContext) {
    this.inbox.publish('staged');
    const [make] = inExecute[mistake.slice('execute '.length)] ?? [];
    return this.make(make!, ctx) as never;
  }
  private make(make: Mistake, ctx: StepContext): unknown {
    attempts.add(ctx.flowId, ctx.attempt);
    return make({ kept: this.kept, inbox: this.inbox, ctx });
  }
}

@Flow()
class WrongFlow {
  static readonly start = WrongStep;
}

@Step({ onFailure: () => RescueStep })
class GuardedStep {
  execute(_input: string) {
    return 'wrong' as never;
  }
}

@Step()
class RescueStep {
  execute(input: string, ctx: StepContext) {
    const { stepExecutionId, failure, attempts: used } = ctx.recovery!;
    return gracefulComplete({ input, stepExecutionId, code: failure.code, used });
  }
}

@Flow()
class GuardedFlow {
  static readonly start = GuardedStep;
  static readonly steps = [RescueStep];
}

const flows = [WrongFlow, GuardedFlow];

describeOnEveryStack('Step definition', flows, (stack) => {
  const system = stack.shared({ flows });

  const check = (method: string, mistakes: typeof inExecute) => {
    for (const [mistake, [, message]] of Object.entries(mistakes)) {
      it(`[S8] ${method} that ${mistake} fails the Flow at once and says why`, async () => {
        const flowId = fresh('wrong');
        const { client } = system;
        await client.start(WrongFlow, flowId, `${method} ${mistake}`);
        const error = await failureOf(client, WrongFlow, flowId);
        assert.equal(error.failKind, 'definition', error.message);
        assert.match(error.message, message);
        assert.deepEqual(attempts.of(flowId), [1]);
        assert.equal((await eventsOf(client, flowId, 'StepFailed')).length, 1);
        // What the failed method had staged is not there; what waitFor saved before is.
        const kept = (await client.attributes(WrongFlow, flowId)).get(Kept);
        assert.equal(kept, method === 'execute' ? 'by waitFor' : undefined);
        assert.deepEqual((await client.describe(flowId)).unread, []);
      });
    }
  };
  check('execute', inExecute);
  check('waitFor', inWaitFor);

  it('[S8] the failure takes the failure route: a recovery Step runs', async () => {
    const flowId = fresh('guarded');
    await system.client.start(GuardedFlow, flowId, 'in');
    assert.deepEqual(await system.client.result(GuardedFlow, flowId), {
      input: 'in',
      stepExecutionId: 'GuardedStep-1',
      code: 'DEFINITION',
      used: 1,
    });
  });
});
