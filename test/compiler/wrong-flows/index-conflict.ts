import { Attribute, Flow } from '../../../decorators';
import { DurableAttribute, DurableAttributeMap } from '../../../lib/authoring';

@Attribute({ name: 'customer', index: 'keyword' })
class CustomerName extends DurableAttribute<string> {}

@Attribute({ name: 'customer', index: 'int' })
class CustomerNumber extends DurableAttribute<number> {}

@Attribute({ index: 'double' })
class Prices extends DurableAttributeMap<number> {}

@Flow()
class OrderFlow {
  constructor(readonly customer: CustomerName) {}
}

@Flow()
class BillFlow {
  constructor(
    readonly customer: CustomerNumber,
    readonly prices: Prices,
  ) {}
}

export const flows = [OrderFlow, BillFlow];
