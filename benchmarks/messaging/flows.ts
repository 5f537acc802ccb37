import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  allOf,
  Channel,
  continueAsNew,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Query,
  Rpc,
  RpcRejected,
  Step,
  type StepContext,
  subFlow,
  until,
  Validate,
} from '../../index';

/** Messages one Step takes at most. */
const atOnce = 500;

@Channel({ name: 'added' })
export class Added extends DurableChannel<number> {}

@Attribute({ name: 'cap' })
export class Cap extends DurableAttribute<number> {}

@Attribute({ name: 'taken' })
export class Taken extends DurableAttribute<{ readonly count: number; readonly sum: number; readonly inRun: number }> {}

export interface Terms {
  /** Messages after which a run goes on as a new one; null: never. */
  readonly perRun: number | null;
  /** Completes after so many. */
  readonly total: number;
}

@Step({ name: 'Take' })
class TakeStep {
  constructor(
    private readonly added: Added,
    private readonly taken: Taken,
  ) {}

  waitFor() {
    return until(this.added.takeBetween(1, atOnce));
  }

  execute(terms: Terms) {
    const messages = this.added.received();
    const before = this.taken.get() ?? { count: 0, sum: 0, inRun: 0 };
    const count = before.count + messages.length;
    const inRun = before.inRun + messages.length;
    const rolls = terms.perRun !== null && inRun >= terms.perRun;
    const sum = messages.reduce((all, price) => all + price, before.sum);
    this.taken.set({ count, sum, inRun: rolls ? 0 : inRun });
    if (count >= terms.total) return gracefulComplete({ count, sum });
    return rolls ? continueAsNew(CartFlow, terms) : goTo(TakeStep, terms);
  }
}

/** Takes what is sent to it, says what it holds, and has a cap that can be changed. */
@Flow({ name: 'cart' })
export class CartFlow {
  static readonly start = TakeStep;

  constructor(
    private readonly taken: Taken,
    private readonly cap: Cap,
  ) {}

  @Query()
  sum() {
    return this.taken.get()?.sum ?? 0;
  }

  @Validate('setCap')
  protected checkCap(cap: number) {
    if (cap < 0) throw new RpcRejected(`A cap of ${cap} is below zero.`, { cap });
  }

  /** Gives the cap there was before. */
  @Rpc()
  setCap(cap: number) {
    const before = this.cap.get() ?? 100;
    this.cap.set(cap);
    return before;
  }
}

@Step({ name: 'Work' })
class WorkStep {
  async execute(ms: number) {
    const from = Date.now();
    await pause(ms);
    return gracefulComplete({ from, to: Date.now() });
  }
}

@Flow({ name: 'child' })
class ChildFlow {
  static readonly start = WorkStep;
}

@Step({ name: 'Join' })
class JoinStep {
  waitFor({ children, ms }: { children: number; ms: number }) {
    const all = Array.from({ length: children }, (_, i) =>
      subFlow(ChildFlow, ms, { id: `child-${i}`, parentClose: 'terminate' }),
    );
    return allOf(...all);
  }

  execute({ children }: { children: number; ms: number }, ctx: StepContext) {
    return gracefulComplete(
      Array.from({ length: children }, (_, i) => {
        const child = ctx.subFlow<{ from: number; to: number }>(`child-${i}`)!;
        if (child.status !== 'completed') throw new Error(`child ${i} is ${child.status}`);
        return child.output!;
      }),
    );
  }
}

/** Starts children at once and waits for all of them. */
@Flow({ name: 'parent' })
export class ParentFlow {
  static readonly start = JoinStep;
}

export const messagingFlows = [CartFlow, ParentFlow, ChildFlow];
