import type { StepContext } from './context';
import type { OutputOf, TargetsOf } from './decision';
import type { RpcContext } from './rpc-context';
import type { Nothing } from './storable';

/** Any class that can be marked `@Step`. */
export type AnyStep = new (...deps: never[]) => { execute(input: never, ctx: StepContext): any };

/** What a Step's `execute` takes, or its `waitFor` alone; `void` when neither takes anything. */
export type InputOf<S> = S extends new (
  ...deps: never[]
) => { execute: (...args: infer P) => any }
  ? P extends [infer I, ...unknown[]]
    ? I
    : P extends []
      ? WaitInputOf<S>
      : P[0]
  : never;

/** Of a Step whose `execute` takes nothing. */
type WaitInputOf<S> = S extends new (
  ...deps: never[]
) => { waitFor: (...args: infer W) => any }
  ? W extends [infer I, ...unknown[]]
    ? I
    : W extends []
      ? Nothing
      : W[0]
  : Nothing;

/** The arguments by which an input is given: none for `void`, optional where it may be undefined. */
export type InputArgs<I> = [I] extends [Nothing] ? [] : undefined extends I ? [input?: I] : [input: I];

/** Any class that can be marked `@Flow`: its statics name the Steps. */
export interface FlowClass {
  new (...deps: never[]): object;
  readonly start?: AnyStep;
  readonly steps?: readonly AnyStep[];
}

/** All Steps which a Flow lists, its start Step among them. */
export type StepsOf<F> =
  | (F extends { readonly start: infer S extends AnyStep } ? S : never)
  | (F extends { readonly steps: readonly (infer S extends AnyStep)[] } ? S : never);

/** What `client.start` takes for a Flow: its start Step's input. */
export type FlowInput<F> = F extends { readonly start: infer S extends AnyStep } ? InputOf<S> : Nothing;

/** What a Flow's Steps may complete it with; `unknown` where a Step does not say. */
export type FlowOutput<F> = OutputOf<DecisionsOf<StepsOf<F>>>;

/** Steps that a Flow's Steps go to and the Flow does not list. */
export type UnlistedSteps<F> = Exclude<TargetsOf<DecisionsOf<StepsOf<F>>>, StepsOf<F>>;

type DecisionsOf<S> = S extends new (
  ...deps: never[]
) => { execute: (...args: never[]) => infer R }
  ? Awaited<R>
  : never;

type DropContext<P extends unknown[]> = P extends [...infer Head, infer Last]
  ? 0 extends 1 & Last
    ? P
    : [Last] extends [RpcContext]
      ? Head
      : P
  : P;

/** What callers give and get for the public methods of a Flow class: asynchronous, and without the context. */
export type RpcProxy<T> = {
  [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (...args: infer P) => infer R
    ? (...args: DropContext<P>) => Promise<Awaited<R>>
    : never;
};

/** The arguments of an RPC that travel: all but the context. */
export type RpcArguments<P extends unknown[]> = DropContext<P>;
