import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

function unnamed() {
  const made = class {
    execute() {
      return deadEnd();
    }
  };
  Object.defineProperty(made, 'name', { value: '' });
  Step()(made);
  return made;
}

@Step({ name: '' })
class EmptyStep {
  execute() {
    return deadEnd();
  }
}

@Step({ name: 'a\0b', aliases: ['', 'fine'] })
class NulStep {
  execute() {
    return deadEnd();
  }
}

@Step({ name: 'é'.repeat(65) })
class LongStep {
  execute() {
    return deadEnd();
  }
}

@Step({ name: 7 as any, aliases: 'Old' as any })
class NumberStep {
  execute() {
    return deadEnd();
  }
}

@Flow({ name: 'constructor' })
class ReservedFlow {
  static readonly steps = [unnamed(), EmptyStep, NulStep, LongStep, NumberStep];
}

export const flows = [ReservedFlow];
