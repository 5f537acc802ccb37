import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

@Step()
class CountStep {
  constructor(
    readonly limit: number,
    readonly names: string[],
    readonly byName: Map<string, number>,
    readonly later: Promise<void>,
    readonly call: () => void,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Flow()
class CountFlow {
  static readonly start = CountStep;
}

export const flows = [CountFlow];
