import { Attribute, Flow, Step } from '../../../decorators';
import { DurableAttribute, deadEnd } from '../../../lib/authoring';

@Attribute()
class Debit extends DurableAttribute<number> {}

@Attribute()
class Credit extends DurableAttribute<number> {}

@Step({ inject: [Credit, Debit] })
class SwappedStep {
  constructor(
    readonly debit: Debit,
    readonly credit: Credit,
  ) {}

  execute() {
    return deadEnd();
  }
}

// @ts-expect-error the list is too short
@Step({ inject: [Debit] })
class ShortStep {
  constructor(
    readonly debit: Debit,
    readonly credit: Credit,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Step({ inject: [Debit, undefined as any] })
class UnreadyStep {
  constructor(
    readonly debit: Debit,
    readonly credit: Credit,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Flow({ inject: 'Debit' as any })
class InjectFlow {
  static readonly steps = [SwappedStep, ShortStep, UnreadyStep];
}

export const flows = [InjectFlow];
