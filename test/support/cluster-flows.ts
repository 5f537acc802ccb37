import { appendFileSync } from 'node:fs';
import {
  Attribute,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  deadEnd,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Lock,
  Query,
  Rpc,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';

// Flows for tests over several processes. What handlers do is written to a file, seen from outside of the system.

/** Says that something has happened, to the file that the test reads. */
export function effect(...parts: (string | number)[]): void {
  const file = process.env.HOLDFAST_EFFECTS;
  if (file) appendFileSync(file, `${parts.join(' ')}\n`);
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

@Attribute()
export class Sum extends DurableAttribute<number> {}

@Attribute(Lock.exclusive)
export class Balance extends DurableAttribute<number> {}

@Channel()
export class Orders extends DurableChannel<number> {}

@Step({ heartbeatTimeout: '3s', retry: { initialInterval: 50 } })
export class CountStep {
  constructor(private readonly sum: Sum) {}

  async execute({ left, pauseMs }: { left: number; pauseMs: number }, ctx: StepContext) {
    effect('count', ctx.flowId, left, ctx.attempt);
    if (pauseMs > 0) await pause(pauseMs);
    const sum = (this.sum.get() ?? 0) + left;
    this.sum.set(sum);
    if (left === 0) return gracefulComplete(sum);
    return goTo(CountStep, { left: left - 1, pauseMs });
  }
}

/** Adds up all numbers from the given one down, a Step for each. */
@Flow()
export class CountFlow {
  static readonly start = CountStep;
  static readonly steps = [];
}

@Step({ heartbeatTimeout: '3s', retry: { initialInterval: 50 } })
export class CollectStep {
  constructor(
    private readonly orders: Orders,
    private readonly sum: Sum,
  ) {}

  waitFor() {
    return until(this.orders.take(1));
  }

  execute(expected: number, ctx: StepContext) {
    const [order] = this.orders.received();
    effect('order', ctx.flowId, order!);
    const sum = (this.sum.get() ?? 0) + 1;
    this.sum.set(sum);
    return sum === expected ? gracefulComplete(sum) : goTo(CollectStep, expected);
  }
}

/** Takes messages one by one, until it has had the given number. */
@Flow()
export class CollectFlow {
  static readonly start = CollectStep;
  static readonly steps = [];

  constructor(
    private readonly sum: Sum,
    private readonly balance: Balance,
  ) {}

  @Rpc({ locks: [Balance] })
  add(n: number) {
    const balance = (this.balance.get() ?? 0) + n;
    this.balance.set(balance);
    return balance;
  }

  @Query()
  total() {
    return this.sum.get() ?? 0;
  }
}

@Step({ heartbeatTimeout: '3s', retry: { initialInterval: 50 } })
export class RaceStep {
  constructor(private readonly orders: Orders) {}

  waitFor(ms: number) {
    return anyOf(this.orders.take(1), Timer.after(ms, 'late'));
  }

  execute(_: number, ctx: StepContext) {
    const how = ctx.fired('late') ? 'timer' : `order ${this.orders.received()[0]}`;
    effect('race', ctx.flowId, how);
    return gracefulComplete(how);
  }
}

/** Ends with a message, or with a timer of the given milliseconds. */
@Flow()
export class RaceFlow {
  static readonly start = RaceStep;
  static readonly steps = [];
}

@Step({ heartbeatTimeout: '2s', retry: { initialInterval: 50 } })
export class BusyStep {
  constructor(private readonly sum: Sum) {}

  async execute(input: { ms: number; times: number; blocks: boolean }, ctx: StepContext) {
    effect('busy', ctx.flowId, ctx.stepExecutionId, ctx.attempt, 'begins');
    if (input.blocks && ctx.attempt < input.times) {
      for (const end = Date.now() + input.ms; Date.now() < end; );
    } else await pause(input.blocks ? 20 : input.ms);
    this.sum.set((this.sum.get() ?? 0) + 1);
    effect('busy', ctx.flowId, ctx.stepExecutionId, ctx.attempt, 'ends');
    return gracefulComplete(ctx.attempt);
  }
}

/** Holds its worker up: `blocks` its event loop for all attempts before `times`, or waits. */
@Flow()
export class BusyFlow {
  static readonly start = BusyStep;
  static readonly steps = [];
}

@Step()
export class QuickStep {
  async execute(left: number, ctx: StepContext) {
    effect('quick', ctx.flowId, left);
    await pause(100);
    return left === 0 ? deadEnd() : goTo(QuickStep, left - 1);
  }
}

@Step()
export class LongStep {
  async execute(ms: number, ctx: StepContext) {
    effect('long', ctx.flowId, ctx.attempt);
    await pause(ms);
    return gracefulComplete('long');
  }
}

@Step()
export class ForkStep {
  execute(ms: number) {
    return goToMany(to(QuickStep, 2), to(LongStep, ms));
  }
}

/** A chain of quick Steps beside a long one. */
@Flow()
export class ForkFlow {
  static readonly start = ForkStep;
  static readonly steps = [QuickStep, LongStep];
}

@Step({ heartbeatTimeout: '3s', retry: { initialInterval: 50 } })
export class PayStep {
  constructor(private readonly balance: Balance) {}

  async execute(n: number, ctx: StepContext) {
    await pause(20);
    effect('pay', ctx.flowId, n, ctx.attempt);
    this.balance.set((this.balance.get() ?? 0) + n);
    return gracefulComplete(n);
  }
}

@Step()
export class PayAllStep {
  execute(n: number) {
    const [first, ...rest] = Array.from({ length: n }, (_, i) => to(PayStep, i + 1));
    return goToMany(first!, ...rest);
  }
}

/** Pays 1 to n into one locked balance, in parallel Steps. */
@Flow()
export class PayFlow {
  static readonly start = PayAllStep;
  static readonly steps = [PayStep];
  constructor(private readonly balance: Balance) {}

  @Query()
  paid() {
    return this.balance.get() ?? 0;
  }
}

@Step({ retry: { initialInterval: 50 }, heartbeatTimeout: '3s' })
export class DrainStep {
  async execute(seconds: number, ctx: StepContext) {
    const from = (ctx.lastHeartbeat as number | undefined) ?? 0;
    effect('drain', ctx.flowId, ctx.attempt, 'from', from);
    for (let done = from; done < seconds * 10; done++) {
      ctx.heartbeat(done);
      await pause(100);
      ctx.signal.throwIfAborted();
    }
    effect('drain', ctx.flowId, ctx.attempt, 'ends');
    return gracefulComplete(ctx.attempt);
  }
}

/** One long Step that goes on where its last attempt stopped. */
@Flow()
export class DrainFlow {
  static readonly start = DrainStep;
  static readonly steps = [];
}

export interface Hold {
  readonly key: string;
  readonly ms: number;
  readonly fails?: boolean;
}

@Step({
  taskQueue: 'keyed',
  heartbeatTimeout: '2s',
  timeout: '6s',
  retry: { maximumAttempts: 2, initialInterval: 50 },
})
export class HoldStep {
  async execute({ key, ms, fails }: Hold, ctx: StepContext) {
    effect('hold', key, 'begins', ctx.flowId, ctx.attempt);
    try {
      for (let left = ms; left > 0 && !ctx.signal.aborted; left -= 20) await pause(20);
      if (fails) throw new Error('as asked');
    } finally {
      effect('hold', key, 'ends', ctx.flowId, ctx.attempt);
    }
    return gracefulComplete(ctx.attempt);
  }
}

/** Holds a slot of its key for a while. */
@Flow()
export class HoldFlow {
  static readonly start = HoldStep;
  static readonly steps = [];
}

@Step({ taskQueue: 'keyed' })
export class NewHoldStep {
  execute({ key }: Hold, ctx: StepContext) {
    effect('hold', key, 'begins', ctx.flowId, ctx.attempt);
    effect('hold', key, 'ends', ctx.flowId, ctx.attempt);
    return gracefulComplete(ctx.attempt);
  }
}

@Step()
export class OldHoldStep {
  execute(_: Hold) {
    return gracefulComplete(0);
  }
}

/** Begins with a Step on that queue that its first version did not have. */
@Flow()
export class GrowHoldFlow {
  static readonly start = process.env.HOLDFAST_VERSION === '1' ? OldHoldStep : NewHoldStep;
  static readonly steps = [];
}

@Step()
export class OldStep {
  execute(n: number) {
    return gracefulComplete(n);
  }
}

@Step()
export class NewStep {
  execute(n: number, ctx: StepContext) {
    effect('new', ctx.flowId, n);
    return gracefulComplete(n);
  }
}

/** Begins with a Step that the first version of it did not have. */
@Flow()
export class GrowFlow {
  static readonly start = process.env.HOLDFAST_VERSION === '1' ? OldStep : NewStep;
  static readonly steps = [];
}

export const clusterFlows = [
  GrowFlow,
  CountFlow,
  CollectFlow,
  RaceFlow,
  BusyFlow,
  ForkFlow,
  PayFlow,
  DrainFlow,
  HoldFlow,
  GrowHoldFlow,
];
