import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
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
  Step,
  type StepContext,
  Timer,
  to,
  until,
} from '../../index';

/** What a Flow of the load gets: which messages and how many parallel branches to expect. */
export interface Load {
  readonly messages: number;
  readonly branches: number;
}

/** What the Flow of that number gets. */
export const loadOf = (number: number): Load => ({ messages: 1 + (number % 4), branches: 1 + (number % 3) });

/** A Step's effect on the world outside, as one line of a file. */
export interface Effect {
  readonly flowId: string;
  readonly execution: string;
  readonly attempt: number;
  readonly key: string;
}

/** The Steps' effects go there; set by the driver. */
export const effects = { file: '' };

function record(ctx: StepContext): void {
  const { flowId, stepExecutionId: execution, attempt, idempotencyKey: key } = ctx;
  appendFileSync(effects.file, `${JSON.stringify({ flowId, execution, attempt, key } satisfies Effect)}\n`);
}

/** A lost worker's attempts come again soon, however often it is lost. */
const retry = { initialInterval: '20ms', coefficient: 1 } as const;

@Channel({ name: 'messages' })
export class Messages extends DurableChannel<number> {}

@Channel({ name: 'joined' })
export class Joined extends DurableChannel<string> {}

@Attribute(Lock.exclusive, { name: 'received' })
export class Received extends DurableAttribute<number[]> {}

@Attribute(Lock.exclusive, { name: 'counter' })
export class Counter extends DurableAttribute<number> {}

@Step({ name: 'begin', retry })
export class BeginStep {
  execute(load: Load, ctx: StepContext) {
    record(ctx);
    const branches = Array.from({ length: load.branches }, () => to(BranchStep));
    return goToMany([to(CollectStep, load), to(TimerStep), to(QuickStep, 3), to(JoinStep, load), ...branches]);
  }
}

/** Branches of one Flow add to the same counter. */
@Step({ name: 'branch', retry })
export class BranchStep {
  constructor(
    private readonly counter: Counter,
    private readonly joined: Joined,
  ) {}

  async execute(_: undefined, ctx: StepContext) {
    const before = this.counter.get() ?? 0;
    record(ctx);
    await pause(2);
    this.counter.set(before + 1);
    this.joined.publish(ctx.stepExecutionId);
    return deadEnd();
  }
}

@Step({ name: 'join', retry })
export class JoinStep {
  constructor(private readonly joined: Joined) {}

  waitFor(load: Load) {
    return until(this.joined.take(load.branches));
  }

  execute(_load: Load, ctx: StepContext) {
    record(ctx);
    return gracefulComplete(this.joined.received());
  }
}

/** Takes the messages one by one and keeps what it got. */
@Step({ name: 'collect', retry })
export class CollectStep {
  constructor(
    private readonly messages: Messages,
    private readonly received: Received,
  ) {}

  waitFor() {
    return anyOf(this.messages.take(1), Timer.after('1d'));
  }

  execute(load: Load, ctx: StepContext) {
    record(ctx);
    const all = [...(this.received.get() ?? []), ...this.messages.received()];
    this.received.set(all);
    return all.length < load.messages ? goTo(CollectStep, load) : gracefulComplete();
  }
}

@Step({ name: 'timer', retry })
export class TimerStep {
  waitFor() {
    return until(Timer.after(200));
  }

  execute(_: undefined, ctx: StepContext) {
    record(ctx);
    return gracefulComplete();
  }
}

/** Is handed out before its start is durable. */
@Step({ name: 'quick', retry, durability: 'ASYNC' })
export class QuickStep {
  execute(left: number, ctx: StepContext) {
    record(ctx);
    return left > 1 ? goTo(QuickStep, left - 1) : gracefulComplete();
  }
}

@Flow({ name: 'load' })
export class LoadFlow {
  static readonly start = BeginStep;
  static readonly steps = [BranchStep, JoinStep, CollectStep, TimerStep, QuickStep];
}
