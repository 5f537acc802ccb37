import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

@Step()
class OutsideStep {
  execute() {
    return deadEnd();
  }
}

@Step({ onFailure: () => OutsideStep })
class RiskyStep {
  execute() {
    return deadEnd();
  }
}

@Step({ onFailure: OutsideStep as any })
class EagerStep {
  execute() {
    return deadEnd();
  }
}

@Step({ onFailure: () => undefined as any })
class UnreadyStep {
  execute() {
    return deadEnd();
  }
}

@Step({ onFailure: 'RefundStep' as any })
class NamedStep {
  execute() {
    return deadEnd();
  }
}

@Flow()
class RiskyFlow {
  static readonly steps = [RiskyStep, EagerStep, UnreadyStep, NamedStep];
}

export const flows = [RiskyFlow];
