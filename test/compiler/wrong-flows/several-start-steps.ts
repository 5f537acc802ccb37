import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

@Step()
class LeftStep {
  execute() {
    return deadEnd();
  }
}

@Step()
class RightStep {
  execute() {
    return deadEnd();
  }
}

// @ts-expect-error a Flow has one start Step
@Flow()
class TwoStartsFlow {
  static readonly start = [LeftStep, RightStep];
}

// @ts-expect-error these are no classes
@Flow()
class TextStartFlow {
  static readonly start = 'LeftStep';
  static readonly steps = { RightStep };
}

export const flows = [TwoStartsFlow, TextStartFlow];
