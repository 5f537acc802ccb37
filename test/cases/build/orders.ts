import type { Files } from './programs';

/** Two Flows and four Steps in two files; `named` with explicit names, `listed` with explicit constructor parameters. */
export function orders({ named, listed }: { named: boolean; listed: boolean }): Files {
  const options = (name: string, inject: string[] = [], more = '') => {
    const parts = [...(named ? [`name: '${name}'`] : []), ...(listed ? [`inject: [${inject.join(', ')}]`] : [])];
    return parts.length + more.length === 0 ? '' : `{ ${[...parts, ...(more ? [more] : [])].join(', ')} }`;
  };
  const state = (name: string) => (named ? `{ name: '${name}' }` : '');
  return {
    './steps': `
import {
  Attribute, Channel, DurableAttribute, DurableChannel, deadEnd, goTo, gracefulComplete, Lock, Step, until,
} from 'holdfast';

export class Prices {
  readonly factor = 2;
  last?: number;
}

@Attribute(Lock.exclusive, ${state('Total') || 'undefined'})
export class Total extends DurableAttribute<number> {}

@Channel(${state('Payments')})
export class Payments extends DurableChannel<number> {}

abstract class PricedStep {
  protected label = 'priced';
  protected unset?: string;
  constructor(protected readonly prices: Prices, protected readonly total: Total) {}
}

@Step(${options('Order', ['Prices', 'Total'])})
export class OrderStep extends PricedStep {
  protected rounds = 1;
  protected override unset?: string;
  constructor(prices: Prices, total: Total) { super(prices, total); }
  execute(amount: number) {
    this.total.set((this.total.get() ?? 0) + amount * this.prices.factor * this.rounds);
    return goTo(PayStep, this.label);
  }
}

@Step(${options('Pay', ['Payments', 'Total'])})
export class PayStep {
  private seen = 0;
  constructor(private readonly payments: Payments, private readonly total: Total) {}
  waitFor(_label: string) { return until(this.payments.take(1)); }
  execute(label: string) {
    this.seen++;
    return gracefulComplete(label + ' ' + this.total.get() + ' ' + this.payments.received()[0] + ' ' + (this.seen > 0));
  }
}

@Step(${options('Ping')})
export class PingStep { execute() { return goTo(PongStep); } }

@Step(${options('Pong')})
export class PongStep { execute() { return gracefulComplete('pong'); } }
`,
    './flows': `
import { Flow, Query, Rpc, RpcContext } from 'holdfast';
import { OrderStep, PayStep, Payments, PingStep, PongStep, Total } from './steps';

@Flow(${options('orders', ['Payments', 'Total'])})
export class OrderFlow {
  static readonly start = OrderStep;
  static readonly steps = [PayStep];
  private paid = 0;
  constructor(private readonly payments: Payments, private readonly total: Total) {}
  @Rpc({ context: true })
  pay(amount: number, context: RpcContext) {
    this.payments.publish(amount);
    return context.flowId + (++this.paid > 0 ? ' paid' : '');
  }
  @Query()
  due() { return this.total.get(); }
}

@Flow(${options('pings')})
export class PingFlow {
  static readonly start = PingStep;
  static readonly steps = [PongStep];
}

export { Payments };
export const flows = [OrderFlow, PingFlow];
`,
  };
}
