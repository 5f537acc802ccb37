import { Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';
import { Clock } from './circular-import';

/** Loaded while circular-import.ts is still being loaded: Clock is not there yet. */
@Step()
export class LateStep {
  constructor(readonly clock: Clock) {}

  execute() {
    return deadEnd();
  }
}
