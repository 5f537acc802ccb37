import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

interface Clock {
  now(): number;
}

@Step()
class WaitStep {
  constructor(
    readonly clock: Clock,
    readonly either: WaitStep | undefined,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Flow()
class WaitFlow {
  static readonly start = WaitStep;

  constructor(readonly clock: Clock) {}
}

export const flows = [WaitFlow];
