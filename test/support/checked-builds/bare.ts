import { Flow, gracefulComplete, Step } from '../../../index';

@Step({ name: 'Begin' })
class BeginStep {
  execute() {
    return gracefulComplete();
  }
}

/** A build that has dropped the Step on which open runs wait. */
@Flow({ name: 'Checked' })
export class BareFlow {
  static readonly start = BeginStep;
}
