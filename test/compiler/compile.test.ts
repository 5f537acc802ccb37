import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert';
import { Attribute, Flow, Step } from '../../decorators';
import { DurableAttribute, deadEnd } from '../../lib/authoring';
import { check, compile } from '../../lib/compiler';
import { defaultMethod, defaultRetry } from '../../lib/plan';
import { Accounts, Approvals, Balance, ChargeStep, OrderFlow, OrderStatus, RefundStep, ShipStep } from './order-flow';

describe('compile', () => {
  const compiled = compile([OrderFlow]);
  const flow = compiled.flowOf(OrderFlow)!;
  const { plan } = flow;

  it('[F1] names a Flow by its decorator and else by its class', () => {
    @Flow()
    class Unnamed {}

    strictEqual(compile([Unnamed]).flowOf(Unnamed)?.plan.name, 'Unnamed');
    deepStrictEqual([...compiled.flows.keys()], ['order']);
    strictEqual(compiled.flowNamed('order'), flow);
  });

  it('[F2] puts the start Step among the Steps, and takes a Flow with none', () => {
    @Flow()
    class Entity {}

    strictEqual(plan.start, 'ChargeStep');
    deepStrictEqual(Object.keys(plan.steps), ['ChargeStep', 'ShipStep', 'RefundStep', '@OnTimeout']);
    deepStrictEqual(compile([Entity]).flowOf(Entity)?.plan.start, null);
  });

  it('[A1] learns from the constructors what each Step and the Flow may touch', () => {
    deepStrictEqual(plan.steps.ShipStep.attributes, ['Balance']);
    deepStrictEqual(plan.steps.ShipStep.channels, ['Approvals']);
    deepStrictEqual(plan.steps.RefundStep.attributes, []);
    deepStrictEqual(Object.keys(plan.attributes).sort(), ['Accounts', 'Balance', 'status']);
    strictEqual(plan.attributes.Accounts.map, true);
    strictEqual(plan.attributes.status.index, 'keyword');
  });

  it('[L1] takes locks from the Attribute, unless the parameter says otherwise', () => {
    deepStrictEqual(plan.steps.ChargeStep.locks, [{ attribute: 'Accounts', mode: 'exclusive', keyPath: 'id' }]);
    deepStrictEqual(plan.steps.ShipStep.locks, [{ attribute: 'Balance', mode: 'exclusive', keyPath: null }]);
    deepStrictEqual(plan.rpcs.approve.locks, [{ attribute: 'Balance', mode: 'exclusive', keyPath: null }]);
  });

  it('[L1] lets the locks option say otherwise than the constructor', () => {
    @Attribute('exclusive')
    class Stock extends DurableAttribute<number> {}

    @Step({ locks: [{ attribute: Stock, mode: 'shared' }] })
    class SharedStep {
      constructor(readonly stock: Stock) {}
      execute() {
        return deadEnd();
      }
    }

    @Step({ locks: [{ attribute: Stock, mode: 'none' }] })
    class FreeStep {
      constructor(readonly stock: Stock) {}
      execute() {
        return deadEnd();
      }
    }

    @Flow()
    class StockFlow {
      static readonly steps = [SharedStep, FreeStep];
    }

    const { steps } = compile([StockFlow]).flowOf(StockFlow)!.plan;
    deepStrictEqual(steps.SharedStep.locks, [{ attribute: 'Stock', mode: 'shared', keyPath: null }]);
    deepStrictEqual(steps.FreeStep.locks, []);
  });

  it('[S9] lowers options for both methods and for one', () => {
    const { waitFor, execute, hasWaitFor } = plan.steps.ShipStep;
    ok(hasWaitFor && !plan.steps.RefundStep.hasWaitFor);
    deepStrictEqual(waitFor, { ...defaultMethod, timeoutMs: 5_000, retry: { ...defaultRetry, maximumAttempts: 5 } });
    deepStrictEqual(execute, {
      ...defaultMethod,
      timeoutMs: 3_600_000,
      retry: { ...defaultRetry, maximumAttempts: 5 },
    });
  });

  it('[X7] [X8] [C36] keeps each failure policy as it was named', () => {
    strictEqual(plan.steps.ShipStep.onFailure, 'RefundStep');
    strictEqual(plan.steps.ShipStep.onWaitForFailure, 'proceed');
    strictEqual(plan.steps.RefundStep.onFailure, null);
    strictEqual(plan.steps.RefundStep.onWaitForFailure, 'fail');
  });

  it('[F7] chooses the handler of the time-out when there is one', () => {
    @Flow()
    class Plain {}

    strictEqual(plan.timeoutMs, 30 * 86_400_000);
    strictEqual(plan.onTimeout, 'handler');
    strictEqual(flow.timeoutMethod, 'late');
    strictEqual(compile([Plain]).flowOf(Plain)?.plan.onTimeout, 'fail');
  });

  it('[R1] [R4] lists RPCs, Queries and validators', () => {
    deepStrictEqual(
      Object.values(plan.rpcs).map(({ name, kind, hasValidator }) => [name, kind, hasValidator]),
      [
        ['approve', 'rpc', true],
        ['state', 'query', false],
      ],
    );
    deepStrictEqual(flow.rpcOf('approve')?.validator, 'checkApprover');
    strictEqual(flow.rpcNamed('unknown'), undefined);
  });

  it('[V3] finds classes by name and by alias', () => {
    strictEqual(flow.stepType('ShipStep'), ShipStep);
    strictEqual(flow.stepType('DeliverStep'), ShipStep);
    strictEqual(flow.stepName(RefundStep), 'RefundStep');
    strictEqual(flow.stepType('toString'), undefined);
    strictEqual(flow.attributeNamed('status')?.type, OrderStatus);
    strictEqual(flow.attributeOf(Balance)?.plan, plan.attributes.Balance);
    strictEqual(flow.channelOf(Approvals)?.name, 'Approvals');
    strictEqual(flow.channelNamed('Approvals')?.type, Approvals);
  });

  it('lists every class once for the container', () => {
    deepStrictEqual(
      new Set(compiled.classes),
      new Set([OrderFlow, ChargeStep, ShipStep, RefundStep, OrderStatus, Balance, Accounts, Approvals]),
    );
    strictEqual(compiled.classes.length, 8);
  });

  it('freezes the plan all through', () => {
    throws(() => {
      (plan.steps.ShipStep.execute.retry.nonRetryable as string[]).push('x');
    }, TypeError);
    throws(() => {
      (plan as any).name = 'other';
    }, TypeError);
  });

  it('takes the same class in several Flows, and a Flow listed twice', () => {
    @Flow()
    class SecondFlow {
      static readonly steps = [RefundStep];
    }

    strictEqual(compile([OrderFlow, SecondFlow, OrderFlow]).flows.size, 2);
    deepStrictEqual(check([OrderFlow, SecondFlow]), []);
  });

  it('[C68] reads statics late, so that a getter may name a class of a file that imports this one', () => {
    @Flow()
    class LazyFlow {
      static get start() {
        return LaterStep;
      }
    }

    @Step()
    class LaterStep {
      execute() {
        return deadEnd();
      }
    }

    strictEqual(compile([LazyFlow]).flowOf(LazyFlow)?.plan.start, 'LaterStep');
  });

  it('never throws from check, whatever untyped code gives', () => {
    const odd = [null, undefined, 0, '', [], {}, Symbol('x'), () => 1, class {}, Object, Promise];
    for (const value of odd) ok(check([value as any]).length > 0);
    for (const value of odd) {
      @Flow(value as any)
      class OddFlow {
        static readonly steps = value as any;
        static readonly start = value as any;
      }

      @Flow({ name: value, aliases: value, timeout: value, onTimeout: value, historyLimit: value } as any)
      class OddOptions {}

      ok(check([OddFlow, OddOptions]).length > 0);
    }
  });
});
