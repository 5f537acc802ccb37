import { setTimeout as pause } from 'node:timers/promises';
import {
  Attribute,
  anyOf,
  Channel,
  type Client,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Holdfast,
  Query,
  Step,
  type StepContext,
  Timer,
} from '../../index';

interface Plan {
  readonly customer: string;
  readonly price: number;
  readonly trial: string;
  readonly period: string;
  readonly periods: number;
}

@Channel()
class Cancellations extends DurableChannel<{ reason: string }> {}

@Attribute()
class Paid extends DurableAttribute<number> {}

@Attribute()
class Phase extends DurableAttribute<'trial' | 'active' | 'ended'> {}

/** Waits for the end of the trial, which a cancellation cuts short. */
@Step({ name: 'Trial' })
class TrialStep {
  constructor(
    private readonly cancellations: Cancellations,
    private readonly phase: Phase,
  ) {}

  waitFor(plan: Plan) {
    this.phase.set('trial');
    return anyOf(this.cancellations.take(1), Timer.after(plan.trial, 'end'));
  }

  execute(plan: Plan, ctx: StepContext) {
    if (ctx.fired('end')) return goTo(BillStep, plan);
    this.phase.set('ended');
    return gracefulComplete(`${plan.customer} cancelled in the trial: ${this.cancellations.received()[0]?.reason}`);
  }
}

/** Charges, waits for a period, and goes on to itself. A timer may be a month as well as a moment. */
@Step({ name: 'Bill' })
class BillStep {
  constructor(
    private readonly cancellations: Cancellations,
    private readonly paid: Paid,
    private readonly phase: Phase,
  ) {}

  waitFor(plan: Plan, ctx: StepContext) {
    console.log(`  ${ctx.stepExecutionId}: charges ${plan.customer} ${plan.price}`);
    this.phase.set('active');
    this.paid.set((this.paid.get() ?? 0) + plan.price);
    return anyOf(this.cancellations.take(1), Timer.after(plan.period, 'renewal'));
  }

  execute(plan: Plan, ctx: StepContext) {
    const left = plan.periods - 1;
    if (ctx.fired('renewal') && left > 0) return goTo(BillStep, { ...plan, periods: left });
    this.phase.set('ended');
    const why = ctx.fired('renewal') ? 'the plan has ended' : this.cancellations.received()[0]?.reason;
    return gracefulComplete(`${plan.customer} paid ${this.paid.get()}: ${why}`);
  }
}

@Flow({ name: 'subscription' })
class SubscriptionFlow {
  static readonly start = TrialStep;
  static readonly steps = [BillStep];

  constructor(
    private readonly phase: Phase,
    private readonly paid: Paid,
  ) {}

  @Query()
  status() {
    return `${this.phase.get()}, paid ${this.paid.get() ?? 0}`;
  }
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [SubscriptionFlow], store: 'memory:' });
  const { client } = holdfast;
  const plan = { price: 12, trial: '14d', period: '30d', periods: 3 };
  for (const customer of ['mara', 'jon', 'kim']) {
    await client.start(SubscriptionFlow, customer, { ...plan, customer });
  }

  console.log('jon cancels in the trial');
  await client.publish(SubscriptionFlow, 'jon', Cancellations, { reason: 'not for me' });

  console.log('the sample lets the trials and then the months pass');
  for (const customer of ['mara', 'kim']) await pass(client, customer, 'Trial-1', 'end');
  await pass(client, 'mara', 'Bill-1', 'renewal');
  await waiting(client, 'mara', 'Bill-2');
  console.log('mara:', await client.rpc(SubscriptionFlow, 'mara').status());
  await client.publish(SubscriptionFlow, 'mara', Cancellations, { reason: 'too expensive' });
  for (const step of ['Bill-1', 'Bill-2', 'Bill-3']) await pass(client, 'kim', step, 'renewal');

  for (const customer of ['mara', 'jon', 'kim']) console.log(await client.result(SubscriptionFlow, customer));
  await holdfast.close();
}

async function pass(client: Client, customer: string, step: string, timer: string): Promise<void> {
  await waiting(client, customer, step);
  await client.skipTimer(customer, step, timer);
}

async function waiting(client: Client, customer: string, step: string): Promise<void> {
  const waits = async () => {
    const { steps } = await client.describe(customer);
    return steps.some(({ stepExecutionId, state }) => stepExecutionId === step && state === 'waiting');
  };
  while (!(await waits())) await pause(5);
}

main();
