import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

function make() {
  @Step()
  class CopyStep {
    execute() {
      return deadEnd();
    }
  }
  return CopyStep;
}

@Step({ name: 'Pay', aliases: ['Charge'] })
class PayStep {
  execute() {
    return deadEnd();
  }
}

@Step({ name: 'Charge' })
class ChargeStep {
  execute() {
    return deadEnd();
  }
}

@Flow()
class CopyFlow {
  static readonly steps = [make(), make(), PayStep, ChargeStep];
}

export const flows = [CopyFlow];
