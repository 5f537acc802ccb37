// Kept by `tsc --noEmit`: each @ts-expect-error is a mistake that must not compile, everything else must.
import { Attribute, Channel, Flow, Lock, OnTimeout, Query, Rpc, Step, Validate } from '../../decorators';
import {
  type Decision,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  DurableChannelMap,
  deadEnd,
  goTo,
  gracefulComplete,
  type RpcContext,
  type StepContext,
  Timer,
  until,
  type Wait,
} from '../../lib/authoring';
import { attribute } from '../../lib/client';

interface Order {
  id: string;
  price: number;
  tags?: Map<string, Set<Date>>;
  parent: Order | null;
}

// Attributes and Channels

@Attribute(Lock.exclusive)
export class Balance extends DurableAttribute<number> {}

@Attribute('shared', { index: 'keyword', aliases: ['old'] })
export class Status extends DurableAttribute<'open' | 'closed'> {}

@Attribute()
export class Orders extends DurableAttributeMap<Order> {}

@Attribute({ name: 'anything' })
export class Anything extends DurableAttribute<unknown> {}

@Channel()
export class Approvals extends DurableChannel<{ by: string }> {}

@Channel({ name: 'parcels' })
export class Parcels extends DurableChannelMap<Order> {}

class Money {
  constructor(readonly cents: bigint) {}
  plus(other: Money) {
    return new Money(this.cents + other.cents);
  }
}

@Attribute({
  codec: { name: 'money', encode: (value: Money) => value.cents, decode: (cents) => new Money(cents as bigint) },
})
export class Price extends DurableAttribute<Money> {}

// @ts-expect-error the codec is for another type
@Attribute({ codec: { name: 'date', encode: (value: Date) => value.getTime(), decode: () => new Date() } })
export class WrongCodec extends DurableAttribute<Money> {}

// @ts-expect-error a method cannot be stored
@Attribute()
export class PlainPrice extends DurableAttribute<Money> {}

// @ts-expect-error a promise cannot be stored
@Attribute()
export class Late extends DurableAttributeMap<{ answer: Promise<string> }> {}

// @ts-expect-error a function cannot be stored
@Channel()
export class Callbacks extends DurableChannel<{ done: () => void }> {}

// @ts-expect-error a Channel is no Attribute
@Attribute()
export class NoAttribute extends DurableChannel<string> {}

// @ts-expect-error an Attribute is no Channel
@Channel()
export class NoChannel extends DurableAttribute<string> {}

@Attribute({ index: 'int' })
export class IndexedCount extends DurableAttribute<bigint | null> {}

@Attribute('exclusive', { index: 'keywordArray' })
export class IndexedTags extends DurableAttribute<string[]> {}

// @ts-expect-error the index is for another type
@Attribute({ index: 'datetime' })
export class WronglyIndexed extends DurableAttribute<string> {}

attribute(IndexedCount).above(5n);
attribute(IndexedTags).has('red');
// @ts-expect-error numbers are not looked for by words
attribute(IndexedCount).contains('five');
// @ts-expect-error another type than that of the value
attribute(IndexedTags).has(5);

// @ts-expect-error no such index
@Attribute({ index: 'string' })
export class OddIndex extends DurableAttribute<string> {}

// @ts-expect-error no such lock
@Attribute('write')
export class OddLock extends DurableAttribute<string> {}

// @ts-expect-error a key makes sense only for one Step
@Attribute(Lock('exclusive', { key: 'id' }))
export class KeyedLock extends DurableAttributeMap<string> {}

// Steps

@Step()
export class RefundStep {
  execute(order: Order) {
    return gracefulComplete({ refunded: order.id });
  }
}

@Step()
export class CountStep {
  execute(_count: number) {
    return deadEnd();
  }
}

@Step({ onFailure: () => RefundStep, retry: { maximumAttempts: 3, nonRetryable: [TypeError, 'Gone'] } })
export class ShipStep {
  constructor(
    @Lock.shared private readonly balance: Balance,
    @Lock('exclusive', { key: 'id' }) readonly orders: Orders,
    private readonly approvals: Approvals,
  ) {}

  waitFor(_order: Order): Wait {
    return until(this.approvals.take(1));
  }

  async execute(order: Order, ctx: StepContext) {
    if (ctx.fired('reminder')) return goTo(ShipStep, order);
    this.balance.set((this.balance.get() ?? 0) + order.price);
    const [approval] = this.approvals.received();
    return gracefulComplete({ shipped: approval.by });
  }
}

@Step()
export class NoInputStep {
  waitFor() {
    return until(Timer.after('1s'));
  }
  execute() {
    return deadEnd();
  }
}

@Step({ onFailure: () => SelfRecovering })
export class SelfRecovering {
  execute(_order: Order): Decision {
    return deadEnd();
  }
}

// @ts-expect-error the recovery Step takes another input
@Step({ onFailure: () => CountStep })
export class WrongRecovery {
  execute(_order: Order) {
    return deadEnd();
  }
}

// @ts-expect-error waitFor takes another input
@Step()
export class WrongWait {
  waitFor(_count: number) {
    return until(Timer.after(1));
  }
  execute(_order: Order) {
    return deadEnd();
  }
}

// @ts-expect-error execute returns no Decision
@Step()
export class NoDecision {
  execute(order: Order) {
    return order;
  }
}

// @ts-expect-error waitFor returns no Wait
@Step()
export class NoWait {
  waitFor() {
    return Timer.after(1);
  }
  execute() {
    return deadEnd();
  }
}

// @ts-expect-error execute is missing
@Step()
export class NoExecute {}

// @ts-expect-error a function as input
@Step()
export class FunctionInput {
  execute(_callback: () => void) {
    return deadEnd();
  }
}

// @ts-expect-error not a policy
@Step({ onWaitForFailure: 'retry' })
export class OddPolicy {
  execute() {
    return deadEnd();
  }
}

// @ts-expect-error not an option
@Step({ retries: 5 })
export class OddOption {
  execute() {
    return deadEnd();
  }
}

@Step({ inject: [Approvals, 'clock', Balance] })
export class ListedStep {
  constructor(
    readonly approvals: Approvals,
    readonly clock: { now(): number },
    readonly balance: Balance,
  ) {}
  execute() {
    return deadEnd();
  }
}

// @ts-expect-error the list is in another order
@Step({ inject: [Balance, Approvals] })
export class MixedUp {
  constructor(
    readonly approvals: Approvals,
    readonly balance: Balance,
  ) {}
  execute() {
    return deadEnd();
  }
}

// @ts-expect-error the list is too short
@Step({ inject: [Approvals] })
export class TooShort {
  constructor(
    readonly approvals: Approvals,
    readonly balance: Balance,
  ) {}
  execute() {
    return deadEnd();
  }
}

// Locks are for constructor parameters

export class LockedMethod {
  // @ts-expect-error not on a method's parameter
  run(@Lock.shared _balance: Balance) {}
}

// Flows

@Step()
export class ChargeStep {
  execute(order: Order, _ctx: StepContext) {
    return order.price > 0 ? goTo(ShipStep, order) : goTo(RefundStep, order).cancelling(ShipStep);
  }
}

@Flow({ timeout: '30d', onTimeout: 'handler' })
export class OrderFlow {
  static readonly start = ChargeStep;
  static readonly steps = [ShipStep, RefundStep];

  constructor(private readonly status: Status) {}

  @Rpc({ locks: [Balance, { attribute: Orders, mode: 'shared', key: 'id' }] })
  approve(_by: string, _amount: number, _ctx: RpcContext) {
    return 'ok' as const;
  }

  @Query()
  async state(): Promise<'open' | 'closed' | undefined> {
    return this.status.get();
  }

  @Validate('approve')
  protected checkApprover(_by: string) {}

  @OnTimeout()
  protected late() {
    return deadEnd();
  }

  // @ts-expect-error no such method
  @Validate('aprove')
  protected typo(_by: string) {}

  // @ts-expect-error the RPC's first argument is a text
  @Validate('approve')
  protected otherArgument(_by: number) {}

  // @ts-expect-error no Decision
  @OnTimeout()
  protected lateNothing() {}

  // @ts-expect-error a function as argument
  @Rpc()
  withCallback(_callback: () => void) {}

  // @ts-expect-error a symbol as answer
  @Query()
  withSymbol() {
    return Symbol('x');
  }
}

@Flow()
export class EntityFlow {}

@Flow()
export class LazyFlow {
  static get start() {
    return ChargeStep;
  }
  static get steps() {
    return [ShipStep, RefundStep];
  }
}

// @ts-expect-error ShipStep is not listed
@Flow()
export class ForgetfulFlow {
  static readonly start = ChargeStep;
  static readonly steps = [RefundStep];
}

// @ts-expect-error a Channel is no Step
@Flow()
export class WrongSteps {
  static readonly steps = [ShipStep, RefundStep, Approvals];
}

// @ts-expect-error no such policy
@Flow({ onTimeout: 'ignore' })
export class WrongPolicy {}

@Step()
export class TakesNothingOrText {
  execute(_text: string | undefined) {
    return deadEnd();
  }
}

@Step({ onFailure: () => TakesNothingOrText })
export class TakesNothing {
  execute() {
    return goTo(WaitsForOrder, 'an order');
  }
}

@Step()
export class WaitsForOrder {
  waitFor(order: string) {
    return until(Timer.after(order.length));
  }
  execute() {
    return deadEnd();
  }
}

export class Misdirected {
  execute() {
    // @ts-expect-error its waitFor takes a text
    return goTo(WaitsForOrder);
  }
}

// @ts-expect-error the recovery Step needs a text
@Step({ onFailure: () => WaitsForOrder })
export class RecoversWrongly {
  execute() {
    return deadEnd();
  }
}
