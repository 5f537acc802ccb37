import { performance } from 'node:perf_hooks';
import { Flow, goTo, gracefulComplete, Step } from '../index';

/** When each Step was entered in this process, on a clock that all processes share. */
export const entered: number[] = [];

export function mark(): void {
  entered.push(performance.timeOrigin + performance.now());
}

@Step({ name: 'Next' })
class NextStep {
  execute(left: number) {
    mark();
    return left > 1 ? goTo(NextStep, left - 1) : gracefulComplete();
  }
}

/** Steps that do nothing, one after the other. */
@Flow({ name: 'chain' })
export class ChainFlow {
  static readonly start = NextStep;
}

@Step({ name: 'Ping', taskQueue: 'ping' })
class PingStep {
  execute(left: number) {
    mark();
    return left > 1 ? goTo(PongStep, left - 1) : gracefulComplete();
  }
}

@Step({ name: 'Pong', taskQueue: 'pong' })
class PongStep {
  execute(left: number): ReturnType<PingStep['execute']> {
    mark();
    return left > 1 ? (goTo(PingStep, left - 1) as never) : gracefulComplete();
  }
}

/** The same between two workers, neither of which runs what follows: each Step is queued. */
@Flow({ name: 'queued chain' })
export class QueuedChainFlow {
  static readonly start = PingStep;
  static readonly steps = [PongStep];
}
