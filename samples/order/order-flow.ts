import {
  Attribute,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Step,
  type StepContext,
  Timer,
} from '../../index';
import { type Order, Shop, say } from './shop';

export interface Approval {
  readonly by: string;
}

@Attribute()
export class OrderStatus extends DurableAttribute<'charged' | 'shipped' | 'refunded'> {}

@Channel()
export class Approvals extends DurableChannel<Approval> {}

@Step({ name: 'Charge' })
export class ChargeStep {
  constructor(
    private readonly shop: Shop,
    private readonly status: OrderStatus,
  ) {}

  async execute(order: Order, ctx: StepContext) {
    await this.shop.charge(order, ctx);
    this.status.set('charged');
    return goTo(ShipStep, order);
  }
}

@Step({
  name: 'Ship',
  retry: { initialInterval: '500ms', maximumAttempts: 20, nonRetryable: ['RefusedByCarrier'] },
  onFailure: () => RefundStep,
})
export class ShipStep {
  constructor(
    private readonly shop: Shop,
    private readonly approvals: Approvals,
    private readonly status: OrderStatus,
  ) {}

  /** While it waits it holds no slot and no memory, for a minute as for a year. */
  waitFor(_order: Order, ctx: StepContext) {
    say(ctx, 'waits for an approval, or 24 hours');
    return anyOf(this.approvals.take(1), Timer.after('24h', 'reminder'));
  }

  async execute(order: Order, ctx: StepContext) {
    if (ctx.fired('reminder')) {
      say(ctx, '24 hours are over: reminds the approver');
      return goTo(ShipStep, order);
    }
    const [approval] = this.approvals.received();
    say(ctx, `approved by ${approval?.by}`);
    await this.shop.ship(order, ctx);
    this.status.set('shipped');
    return gracefulComplete({ shipped: order.id });
  }
}

/** Where Ship goes when it has failed for good. */
@Step({ name: 'Refund' })
export class RefundStep {
  constructor(
    private readonly shop: Shop,
    private readonly status: OrderStatus,
  ) {}

  async execute(order: Order, ctx: StepContext) {
    say(ctx, `recovers ${ctx.recovery?.stepExecutionId}: ${ctx.recovery?.failure.message}`);
    await this.shop.refund(order, ctx);
    this.status.set('refunded');
    return gracefulComplete({ refunded: order.id });
  }
}

@Flow({ name: 'order' })
export class OrderFlow {
  static readonly start = ChargeStep;
  static readonly steps = [ShipStep, RefundStep];
}
