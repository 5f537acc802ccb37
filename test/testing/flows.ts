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
  gracefulComplete,
  Rpc,
  Step,
  type StepContext,
  subFlow,
  Timer,
  until,
} from '../../index';

/** What handlers did, in order. */
export const ran: string[] = [];
/** Where `SlowStep` waits for the test. */
export const gate = { passed: Promise.resolve() };

@Attribute()
export class Reminders extends DurableAttribute<number> {}

@Channel()
class Answers extends DurableChannel<string> {}

@Step()
class RemindStep {
  constructor(
    private readonly reminders: Reminders,
    private readonly answers: Answers,
  ) {}

  waitFor() {
    return anyOf(this.answers.take(1), Timer.after('24h', 'remind'));
  }

  execute(_: undefined, ctx: StepContext) {
    ran.push(`${ctx.stepExecutionId}#${ctx.attempt}`);
    if (!ctx.fired('remind')) return gracefulComplete(this.answers.received()[0]!);
    this.reminders.set((this.reminders.get() ?? 0) + 1);
    return goTo(RemindStep);
  }
}

@Flow()
export class ReminderFlow {
  static readonly start = RemindStep;
  constructor(private readonly answers: Answers) {}

  @Rpc()
  answer(text: string) {
    this.answers.publish(text);
    return text.length;
  }
}

@Step({ retry: { initialInterval: '10s', coefficient: 3, maximumAttempts: 4 } })
class FlakyStep {
  execute(_: undefined, ctx: StepContext) {
    ran.push(`${ctx.stepExecutionId}#${ctx.attempt}`);
    if (ctx.attempt < 4) throw new Error('not yet');
    return gracefulComplete(ctx.attempt);
  }
}

@Flow()
export class FlakyFlow {
  static readonly start = FlakyStep;
}

@Step({ timeout: '5m', retry: { maximumAttempts: 1 } })
class SlowStep {
  async execute(what: 'io' | 'gate' | 'hang', ctx: StepContext) {
    ran.push(what);
    if (what === 'io') await pause(30);
    else if (what === 'gate') await gate.passed;
    else await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));
    return gracefulComplete(what);
  }
}

@Flow()
export class SlowFlow {
  static readonly start = SlowStep;
}

@Step({ durability: 'ASYNC' })
class NapStep {
  waitFor(ms: number) {
    return until(Timer.after(ms));
  }
  execute(ms: number, ctx: StepContext) {
    ran.push(`${ctx.flowId}@${ms}`);
    return deadEnd();
  }
}

@Flow()
export class NapFlow {
  static readonly start = NapStep;
}

@Step()
class ParentStep {
  waitFor() {
    return until(subFlow(ReminderFlow, undefined, { flowId: 'child', parentClose: 'terminate' }));
  }
  execute(_: undefined, ctx: StepContext) {
    return gracefulComplete(ctx.subFlow()!.output);
  }
}

@Flow()
export class ParentFlow {
  static readonly start = ParentStep;
}

export const flows = [ReminderFlow, FlakyFlow, SlowFlow, NapFlow, ParentFlow];
