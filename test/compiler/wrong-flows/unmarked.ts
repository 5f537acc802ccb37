import { Attribute, Channel, Flow, Step } from '../../../decorators';
import { DurableAttribute, DurableChannel, deadEnd } from '../../../lib/authoring';

class Balance extends DurableAttribute<number> {}

@Attribute()
class Total extends DurableAttribute<number> {}

class Subtotal extends Total {}

class Messages extends DurableChannel<string> {}

@Step()
class MarkedStep {
  constructor(
    readonly balance: Balance,
    readonly subtotal: Subtotal,
    readonly messages: Messages,
    readonly any: DurableAttribute<number>,
  ) {}

  execute() {
    return deadEnd();
  }
}

class ForgottenStep {
  execute() {
    return deadEnd();
  }
}

class SubStep extends MarkedStep {}

@Channel()
class Inbox extends DurableChannel<string> {}

class UnmarkedFlow {
  static readonly start = MarkedStep;
  static readonly steps = [ForgottenStep, SubStep, Inbox];
}

@Flow()
class MarkedFlow {}

class SubFlow extends MarkedFlow {}

export const flows = [UnmarkedFlow, SubFlow, MarkedStep];
