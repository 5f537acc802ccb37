import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

@Step()
class FirstStep {
  execute() {
    return deadEnd();
  }
}

/** What a class that was not loaded yet looks like. */
const NotLoaded = undefined as unknown as typeof FirstStep;

@Flow()
class UnreadyStartFlow {
  static readonly start = NotLoaded;
  static readonly steps = [FirstStep, NotLoaded];
}

@Flow()
class UnreadyStepsFlow {
  static get steps(): (typeof FirstStep)[] {
    throw new ReferenceError("Cannot access 'LaterStep' before initialization");
  }
}

export const flows = [UnreadyStartFlow, UnreadyStepsFlow, NotLoaded];
