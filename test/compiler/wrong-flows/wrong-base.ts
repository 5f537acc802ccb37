import { Attribute, Channel, Flow, Step } from '../../../decorators';
import { DurableAttribute, DurableChannel, deadEnd } from '../../../lib/authoring';

// @ts-expect-error a Channel is no Attribute
@Attribute()
class Approvals extends DurableChannel<string> {}

// @ts-expect-error an Attribute is no Channel
@Channel()
class Balance extends DurableAttribute<number> {}

// @ts-expect-error the class has no base
@Attribute()
class Plain {}

@Step()
class MixedStep {
  constructor(
    readonly approvals: Approvals,
    readonly balance: Balance,
    readonly plain: Plain,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Flow()
class MixedFlow {
  static readonly start = MixedStep;
}

export const flows = [MixedFlow];
