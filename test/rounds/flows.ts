import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  anyOf,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  goToMany,
  gracefulComplete,
  Lock,
  Query,
  type Recovery,
  Rpc,
  RpcContext,
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';
import { counted, note } from './outside';

/** A worker that is silent for longer is taken for dead. */
export const heartbeatMs = 4_000;
/** A Step of the task queue `rare` waits no longer than that for a worker. */
const startTimeoutMs = 700;
/** Steps of the queue that only one of the workers serves. */
const rareQueue = 'rare';

const terms = { heartbeatTimeout: heartbeatMs, retry: { initialInterval: 20, coefficient: 1 } } as const;

/** What an execution's saved result says of the attempt that gave it. */
export type Applied = Readonly<Record<string, number>>;

@Attribute({ name: 'sum' })
export class Sum extends DurableAttribute<number> {}

@Attribute({ name: 'applied' })
export class AppliedBy extends DurableAttribute<Applied> {}

@Attribute(Lock.exclusive, { name: 'counter' })
export class Counter extends DurableAttribute<number> {}

@Attribute(Lock.exclusive, { name: 'entries' })
export class Entries extends DurableAttribute<string[]> {}

@Attribute({ name: 'received' })
export class ReceivedMessages extends DurableAttribute<number[]> {}

@Attribute({ name: 'recoveries' })
export class Recoveries extends DurableAttribute<Recovery[]> {}

@Channel({ name: 'messages' })
export class Messages extends DurableChannel<number> {}

@Step({ name: 'Link', ...terms })
export class LinkStep {
  constructor(
    private readonly sum: Sum,
    private readonly applied: AppliedBy,
  ) {}

  execute(left: number, ctx: StepContext) {
    return counted(ctx, async () => {
      const sum = (this.sum.get() ?? 0) + left;
      await pause(80);
      this.sum.set(sum);
      this.applied.set({ ...this.applied.get(), [ctx.stepExecutionId]: ctx.attempt });
      return left > 1 ? goTo(LinkStep, left - 1) : gracefulComplete(sum);
    });
  }
}

/** Adds up the numbers from the given one down, a Step for each. Started SYNC and ASYNC. */
@Flow({ name: 'chain' })
export class ChainFlow {
  static readonly start = LinkStep;
}

@Step({ name: 'Add', ...terms })
export class AddStep {
  constructor(
    private readonly counter: Counter,
    private readonly entries: Entries,
  ) {}

  execute(_: undefined, ctx: StepContext) {
    return counted(ctx, async () => {
      const before = this.counter.get() ?? 0;
      await pause(60);
      this.counter.set(before + 1);
      this.entries.set([...(this.entries.get() ?? []), ctx.stepExecutionId]);
      return gracefulComplete();
    });
  }
}

@Step({ name: 'Fork', ...terms })
export class ForkStep {
  execute(branches: number) {
    const [first, ...rest] = Array.from({ length: branches }, () => to(AddStep));
    return goToMany(first!, ...rest);
  }
}

/** Parallel increments of one locked counter. */
@Flow({ name: 'count' })
export class CountFlow {
  static readonly start = ForkStep;
  static readonly steps = [AddStep];
}

@Step({ name: 'Flaky', ...terms, retry: { ...terms.retry, maximumAttempts: 4 } })
export class FlakyStep {
  execute(_: undefined, ctx: StepContext) {
    return counted(ctx, async () => {
      await pause(150);
      if (ctx.attempt <= 2) throw new Error(`attempt ${ctx.attempt} fails`);
      return gracefulComplete(ctx.attempt);
    });
  }
}

/** Fails twice; attempts are counted over failures and losses alike. */
@Flow({ name: 'retry' })
export class RetryFlow {
  static readonly start = FlakyStep;
}

@Step({ name: 'Recover', ...terms })
export class RecoverStep {
  constructor(private readonly recoveries: Recoveries) {}

  execute(left: number, ctx: StepContext) {
    return counted(ctx, () => {
      this.recoveries.set([...(this.recoveries.get() ?? []), ctx.recovery!]);
      return left > 1 ? goTo(RareStep, left - 1) : gracefulComplete();
    });
  }
}

@Step({ name: 'Once', ...terms, retry: { maximumAttempts: 1 }, onFailure: () => RecoverStep })
export class OnceStep {
  execute(_: number, ctx: StepContext) {
    return counted(ctx, async () => {
      await pause(900);
      return gracefulComplete();
    });
  }
}

@Step({
  ...{ name: 'Rare', ...terms, taskQueue: rareQueue, startTimeout: startTimeoutMs },
  ...{ retry: { maximumAttempts: 1 }, onFailure: () => RecoverStep },
})
export class RareStep {
  execute(left: number, ctx: StepContext): Promise<ReturnType<typeof goTo> | ReturnType<typeof gracefulComplete>> {
    return counted(ctx, async () => {
      await pause(100);
      return left > 1 ? goTo(RareStep, left - 1) : gracefulComplete();
    });
  }
}

/** One attempt and no more; a recovery Step is told what became of it. */
@Flow({ name: 'once' })
export class OnceFlow {
  static readonly start = OnceStep;
  static readonly steps = [RecoverStep, RareStep];
}

/** Steps that give up when no worker takes them soon, one after the other. */
@Flow({ name: 'rare' })
export class RareFlow {
  static readonly start = RareStep;
  static readonly steps = [RecoverStep];
}

@Step({ name: 'Long', ...terms })
export class LongStep {
  execute(pieces: number, ctx: StepContext) {
    return counted(ctx, async () => {
      const from = (ctx.lastHeartbeat as number | undefined) ?? 0;
      note(ctx, 'resume', from);
      for (let piece = from; piece < pieces; piece++) {
        await pause(50);
        note(ctx, 'beat', piece + 1);
        ctx.heartbeat(piece + 1);
      }
      return gracefulComplete(from);
    });
  }
}

/** One long Step that goes on where an attempt before it stopped. */
@Flow({ name: 'long' })
export class LongFlow {
  static readonly start = LongStep;
}

/** Later attempts take longer, so that what an earlier one brings late meets them at work. */
@Step({ name: 'Slower', ...terms })
export class SlowerStep {
  execute(_: undefined, ctx: StepContext) {
    return counted(ctx, async () => {
      await pause(ctx.attempt === 1 ? 1_500 : 4_500);
      return gracefulComplete(ctx.attempt);
    });
  }
}

@Flow({ name: 'slower' })
export class SlowerFlow {
  static readonly start = SlowerStep;
}

@Step({ name: 'Collect', ...terms })
export class CollectStep {
  constructor(
    private readonly messages: Messages,
    private readonly received: ReceivedMessages,
  ) {}

  waitFor() {
    return anyOf(this.messages.take(1), Timer.after('1d'));
  }

  execute(expected: number, ctx: StepContext) {
    return counted(ctx, async () => {
      await pause(20);
      const all = [...(this.received.get() ?? []), ...this.messages.received()];
      this.received.set(all);
      return all.length < expected ? goTo(CollectStep, expected) : gracefulComplete(all);
    });
  }
}

/** Takes messages one by one. */
@Flow({ name: 'collect' })
export class CollectFlow {
  static readonly start = CollectStep;
}

@Step({ name: 'Timed', ...terms })
export class TimedStep {
  waitFor(ms: number) {
    return until(Timer.after(ms));
  }

  execute(_: number, ctx: StepContext) {
    return counted(ctx, () => gracefulComplete());
  }
}

@Flow({ name: 'timed' })
export class TimedFlow {
  static readonly start = TimedStep;
}

@Step({ name: 'Close', ...terms })
export class CloseStep {
  execute() {
    return gracefulComplete();
  }
}

/** Is changed by RPCs only. */
@Flow({ name: 'account' })
export class AccountFlow {
  static readonly steps = [CloseStep];
  constructor(private readonly entries: Entries) {}

  @Rpc({ locks: [Entries] })
  async add(entry: string) {
    const all = [...(this.entries.get() ?? []), entry];
    await pause(30);
    this.entries.set(all);
    return all.length;
  }

  @Rpc({ locks: [Entries], transactional: true })
  async addAlone(entry: string) {
    return this.add(entry);
  }

  /** Lets it end. */
  @Rpc()
  finish(ctx: RpcContext) {
    ctx.start(CloseStep);
  }

  @Query()
  all() {
    return this.entries.get() ?? [];
  }
}

export const clusterFlows = [
  ...[ChainFlow, CountFlow, RetryFlow, OnceFlow, RareFlow, LongFlow, SlowerFlow, CollectFlow, TimedFlow, AccountFlow],
];
