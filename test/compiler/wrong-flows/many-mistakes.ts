import { Attribute, Flow, Rpc, Step, Validate } from '../../../decorators';
import { DurableAttribute, deadEnd } from '../../../lib/authoring';

interface Bank {
  pay(amount: number): Promise<void>;
}

@Attribute()
class Balance extends DurableAttribute<number> {}

class RefundStep {
  execute() {
    return deadEnd();
  }
}

@Step({
  timeout: '2 hours',
  retry: { maximumAttempts: -1 },
  onFailure: () => RefundStep as any,
  durability: 'NONE' as any,
})
class PayStep {
  constructor(
    readonly bank: Bank,
    readonly balance: Balance,
  ) {}

  execute(_amount: number) {
    return deadEnd();
  }
}

@Flow({ timeout: '-1d' })
class ShopFlow {
  static readonly start = PayStep;

  @Rpc()
  refund() {}

  // @ts-expect-error there is no such method
  @Validate('reund')
  protected check() {}
}

export const flows = [ShopFlow];
