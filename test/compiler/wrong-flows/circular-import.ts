import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';
import { LateStep } from './circular-import-late';

export class Clock {}

@Step()
export class EarlyStep {
  constructor(readonly clock: Clock) {}

  execute() {
    return deadEnd();
  }
}

@Flow()
class CircularFlow {
  static readonly steps = [EarlyStep, LateStep];
}

export const flows = [CircularFlow];
