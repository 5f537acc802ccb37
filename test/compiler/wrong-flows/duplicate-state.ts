import { Attribute, Channel, Flow, Lock, Step } from '../../../decorators';
import { DurableAttribute, DurableChannel, deadEnd } from '../../../lib/authoring';

@Attribute({ name: 'total' })
class Total extends DurableAttribute<number> {}

@Attribute(Lock.shared, { name: 'total' })
class Sum extends DurableAttribute<number> {}

@Channel({ name: 'inbox' })
class Orders extends DurableChannel<string> {}

@Channel({ name: 'inbox' })
class Returns extends DurableChannel<string> {}

@Step()
class AddStep {
  constructor(
    readonly total: Total,
    readonly sum: Sum,
    readonly again: Total,
    readonly orders: Orders,
    readonly returns: Returns,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Flow()
class SumFlow {
  static readonly start = AddStep;
}

export const flows = [SumFlow];
