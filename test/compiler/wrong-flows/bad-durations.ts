import { Flow, Query, Rpc, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

@Step({ timeout: -5, heartbeatTimeout: '10 minutes', startTimeout: Number.NaN, execute: { timeout: 0 } })
class SlowStep {
  execute() {
    return deadEnd();
  }
}

@Step({ retry: { initialInterval: Number.POSITIVE_INFINITY, maximumInterval: '1y', totalDuration: '' } })
class RetryingStep {
  execute() {
    return deadEnd();
  }
}

@Flow({ timeout: 'soon', retention: '200000d' })
class SlowFlow {
  static readonly steps = [SlowStep, RetryingStep];

  @Rpc({ deadline: 'abc' })
  call() {}

  @Query({ deadline: 0 })
  look() {}
}

export const flows = [SlowFlow];
