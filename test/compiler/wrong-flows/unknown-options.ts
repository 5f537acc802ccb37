import { Attribute, Channel, Flow, Step } from '../../../decorators';
import { DurableAttribute, DurableChannel, deadEnd } from '../../../lib/authoring';

@Attribute('none', { indexed: true } as any)
class Balance extends DurableAttribute<number> {}

@Channel({ size: 5 } as any)
class Inbox extends DurableChannel<number> {}

@Step({ retries: 5, timeOut: '5s', retry: { maxAttempts: 5 }, waitFor: { locks: [] } } as any)
class TypoStep {
  constructor(
    readonly balance: Balance,
    readonly inbox: Inbox,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Step('TextStep' as any)
class TextStep {
  execute() {
    return deadEnd();
  }
}

@Flow({ start: TypoStep } as any)
class TypoFlow {
  static readonly steps = [TypoStep, TextStep];
}

export const flows = [TypoFlow];
