import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

// @ts-expect-error execute is missing
@Step()
class EmptyStep {}

@Step()
class FieldStep {
  execute = () => deadEnd();
}

@Flow()
class EmptyFlow {
  static readonly steps = [EmptyStep as any, FieldStep];
}

export const flows = [EmptyFlow];
