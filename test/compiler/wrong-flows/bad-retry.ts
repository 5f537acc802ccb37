import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

@Step({
  retry: {
    coefficient: 0.5,
    maximumAttempts: 0,
    jitter: 2,
    nonRetryable: [TypeError, 'RangeError', 5 as any, ''],
    initialInterval: '10s',
    maximumInterval: '1s',
  },
})
class RetryingStep {
  execute() {
    return deadEnd();
  }
}

@Step({ retry: 5 as any, waitFor: { retry: { maximumAttempts: 2.5, nonRetryable: 'Error' as any } } })
class NumberStep {
  execute() {
    return deadEnd();
  }
}

@Flow({ historyLimit: 0 })
class RetryingFlow {
  static readonly steps = [RetryingStep, NumberStep];
}

export const flows = [RetryingFlow];
