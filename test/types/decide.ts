// Kept by `tsc --noEmit`.
import {
  type DurableChannel,
  type FlowInput,
  type FlowOutput,
  forceFail,
  goTo,
  goToMany,
  gracefulComplete,
  type InputArgs,
  type RpcProxy,
  to,
} from '../../lib/authoring';
import {
  type Approvals,
  type ChargeStep,
  CountStep,
  EntityFlow,
  type LazyFlow,
  NoInputStep,
  OrderFlow,
  RefundStep,
  ShipStep,
} from './declare-flow';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const yes = <T extends true>(): T | undefined => undefined;

const order = { id: 'o-1', price: 5, parent: null };

goTo(ShipStep, order);
goTo(CountStep, 5);
goTo(NoInputStep);
goToMany(to(ShipStep, order), to(CountStep, 5), to(NoInputStep));
goToMany([1, 2].map((each) => to(CountStep, each)));
goTo(ShipStep, order).with({ timeout: '5s', onFailure: null, execute: { retry: { jitter: 1 } } });
to(ShipStep, order).with({ onFailure: () => RefundStep });

// @ts-expect-error a number is no order
goTo(ShipStep, 5);
// @ts-expect-error the input is missing
goTo(ShipStep);
// @ts-expect-error there is no input
goTo(NoInputStep, 5);
// @ts-expect-error an unknown property
goTo(ShipStep, { id: 'o-1', price: 5, parent: null, cost: 5 });
// @ts-expect-error not a Step
goTo(EntityFlow, 5);
// @ts-expect-error no movement
goToMany();
// @ts-expect-error a class and not a movement
goToMany(ShipStep);
// @ts-expect-error no such option
goTo(ShipStep, order).with({ name: 'x' });
// @ts-expect-error a function cannot be stored
gracefulComplete({ done: () => 1 });
// @ts-expect-error not a reason
forceFail(5);

gracefulComplete();
gracefulComplete({ at: new Date(), many: [1n, new Map([['a', new Set([1])]])] });

// What follows from a Flow's statics

yes<Same<FlowInput<typeof OrderFlow>, Parameters<ChargeStep['execute']>[0]>>();
yes<Same<FlowOutput<typeof OrderFlow>, { shipped: string } | { refunded: string }>>();
yes<Same<FlowOutput<typeof LazyFlow>, { shipped: string } | { refunded: string }>>();
yes<Same<FlowInput<typeof EntityFlow>, ReturnType<() => void>>>();
yes<Same<FlowOutput<typeof EntityFlow>, never>>();
yes<Same<InputArgs<FlowInput<typeof EntityFlow>>, []>>();
yes<Same<InputArgs<number | undefined>, [input?: number | undefined]>>();

// The client's proxy: public methods, asynchronous, without the context

type Proxy = RpcProxy<OrderFlow>;
yes<Same<Proxy['approve'], (by: string, amount: number) => Promise<'ok'>>>();
yes<Same<Proxy['state'], () => Promise<'open' | 'closed' | undefined>>>();
yes<Same<'checkApprover' extends keyof Proxy ? true : false, false>>();
yes<Same<'late' extends keyof Proxy ? true : false, false>>();
yes<Same<ReturnType<Approvals['received']>, { by: string }[]>>();
yes<Same<Approvals extends DurableChannel<number> ? true : false, false>>();

export const flow = OrderFlow;
