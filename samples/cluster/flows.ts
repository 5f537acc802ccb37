import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Lock,
  Step,
  type StepContext,
  until,
} from '../../index';

@Attribute(Lock.exclusive)
class Total extends DurableAttribute<number> {}

@Channel()
export class Parcels extends DurableChannel<number> {}

/** Counts one parcel. It takes a moment, so that some are always under way when a machine dies. */
@Step({ heartbeatTimeout: '3s', retry: { initialInterval: 100 } })
class WeighStep {
  constructor(
    private readonly parcels: Parcels,
    private readonly total: Total,
  ) {}

  waitFor() {
    return until(this.parcels.take(1));
  }

  async execute(left: number, ctx: StepContext) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.send?.({ kind: 'weighed', flowId: ctx.flowId, attempt: ctx.attempt });
    const [grams] = this.parcels.received();
    const total = (this.total.get() ?? 0) + grams!;
    this.total.set(total);
    return left === 1 ? gracefulComplete(total) : goTo(WeighStep, left - 1);
  }
}

/** Weighs the given number of parcels as they come in, and completes with their total weight. */
@Flow()
export class DepotFlow {
  static readonly start = WeighStep;
  static readonly steps = [];
}
