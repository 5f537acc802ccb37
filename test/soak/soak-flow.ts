import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Lock,
  Rpc,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';

export interface Order {
  readonly messages: number;
  readonly pays: number;
  readonly timerMs: number;
}

@Attribute(Lock.exclusive)
export class Balance extends DurableAttribute<number> {}

@Attribute()
export class Taken extends DurableAttribute<readonly number[]> {}

@Channel()
export class Parcels extends DurableChannel<number> {}

const options = { heartbeatTimeout: '5s', retry: { initialInterval: 50, maximumInterval: 500 } } as const;

/** What Step `n` of the parallel ones pays: a bit of its own, so that a sum tells each that is missing or doubled. */
export const payOf = (n: number) => 2 ** (20 + n);
export const depositOf = (n: number) => 2 ** n;

@Step(options)
class CollectStep {
  constructor(
    private readonly parcels: Parcels,
    private readonly taken: Taken,
  ) {}

  waitFor() {
    return until(this.parcels.take(1));
  }

  execute(expected: number) {
    const taken = [...(this.taken.get() ?? []), ...this.parcels.received()];
    this.taken.set(taken);
    return taken.length >= expected ? gracefulComplete('collected') : goTo(CollectStep, expected);
  }
}

@Step(options)
class PayStep {
  constructor(private readonly balance: Balance) {}

  async execute(n: number) {
    const before = this.balance.get() ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.balance.set(before + payOf(n));
    return gracefulComplete('paid');
  }
}

@Step(options)
class LaterStep {
  waitFor(ms: number) {
    return until(Timer.after(ms, 'due'));
  }

  execute(_: number, ctx: StepContext) {
    return gracefulComplete(ctx.fired('due') ? 'fired' : 'not fired');
  }
}

@Step(options)
class FlakyStep {
  execute(fails: number, ctx: StepContext) {
    if (ctx.attempt <= fails) throw new Error(`attempt ${ctx.attempt} fails`);
    return gracefulComplete('retried');
  }
}

@Step(options)
class OpenStep {
  execute({ messages, pays, timerMs }: Order) {
    return goToMany(
      to(CollectStep, messages),
      to(LaterStep, timerMs),
      to(FlakyStep, 2),
      ...Array.from({ length: pays }, (_, i) => to(PayStep, i)),
    );
  }
}

/** Messages in order, a timer, retries, and a balance that parallel Steps and RPCs change under its lock. */
@Flow()
export class SoakFlow {
  static readonly start = OpenStep;
  static readonly steps = [CollectStep, LaterStep, FlakyStep, PayStep];
  constructor(private readonly balance: Balance) {}

  @Rpc({ locks: [Balance] })
  deposit(amount: number) {
    const balance = (this.balance.get() ?? 0) + amount;
    this.balance.set(balance);
    return balance;
  }
}
