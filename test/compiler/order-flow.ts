import { Attribute, Channel, Flow, Lock, OnTimeout, Query, Rpc, Step, Validate } from '../../decorators';
import {
  anyOf,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  forceFail,
  goTo,
  gracefulComplete,
  RpcRejected,
  type StepContext,
  Timer,
} from '../../lib/authoring';

export interface Order {
  id: string;
  amount: number;
}

@Attribute(Lock.exclusive)
export class Balance extends DurableAttribute<number> {}

@Attribute({ index: 'keyword', name: 'status' })
export class OrderStatus extends DurableAttribute<string> {}

@Attribute()
export class Accounts extends DurableAttributeMap<number> {}

@Channel()
export class Approvals extends DurableChannel<{ by: string }> {}

export class ShippingService {
  async ship(_order: Order, _key: string): Promise<void> {}
}

@Step()
export class ChargeStep {
  constructor(
    @Lock.none readonly balance: Balance,
    @Lock('exclusive', { key: 'id' }) readonly accounts: Accounts,
  ) {}

  async execute(order: Order) {
    return goTo(ShipStep, order);
  }
}

@Step({
  retry: { maximumAttempts: 5 },
  timeout: '1h',
  onFailure: () => RefundStep,
  onWaitForFailure: 'proceed',
  waitFor: { timeout: '5s' },
  aliases: ['DeliverStep'],
})
export class ShipStep {
  constructor(
    private readonly approvals: Approvals,
    private readonly balance: Balance,
    private readonly shipping: ShippingService,
  ) {}

  waitFor() {
    return anyOf(this.approvals.take(1), Timer.after('24h', 'reminder'));
  }

  async execute(order: Order, ctx: StepContext) {
    if (ctx.fired('reminder')) return goTo(ShipStep, order);
    await this.shipping.ship(order, ctx.idempotencyKey);
    this.balance.set(this.balance.get()! - order.amount);
    return gracefulComplete({ shipped: order.id });
  }
}

@Step()
export class RefundStep {
  execute(order: Order) {
    return gracefulComplete({ refunded: order.id });
  }
}

@Flow({ name: 'order', timeout: '30d' })
export class OrderFlow {
  static readonly start = ChargeStep;
  static readonly steps = [ShipStep, RefundStep];

  constructor(
    private readonly approvals: Approvals,
    private readonly status: OrderStatus,
  ) {}

  @Rpc({ locks: [Balance] })
  approve(by: string) {
    this.approvals.publish({ by });
    return 'ok';
  }

  @Query()
  state() {
    return this.status.get();
  }

  @Validate('approve')
  protected checkApprover(by: string) {
    if (!by) throw new RpcRejected('an approver is required');
  }

  @OnTimeout()
  protected late() {
    return forceFail('too late');
  }
}
