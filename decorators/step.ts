import type {
  AnyStep,
  Decision,
  InputOf,
  MustStore,
  Problem,
  StepContext,
  StepOptions,
  Token,
  Wait,
} from '../lib/authoring';
import type { Nothing } from '../lib/authoring/storable';
import { recordStep } from '../lib/metadata';
import type { Resolved } from './inject';

interface StepShape {
  waitFor?(input: never, ctx: StepContext): Wait | Promise<Wait>;
  execute(input: never, ctx: StepContext): Decision | Promise<Decision>;
}

type WaitForInput<C> = C extends new (
  ...deps: never[]
) => { waitFor: (...args: infer W) => any; execute: (...args: infer E) => any }
  ? [] extends W | E
    ? unknown
    : 0 extends 1 & W[0]
      ? unknown
      : [E[0]] extends [W[0]]
        ? unknown
        : Problem<'waitFor must take the same input as execute'>
  : unknown;

type RecoveryInput<C, R> = 0 extends 1 & R
  ? unknown
  : [[InputOf<C>] extends [Nothing] ? undefined : InputOf<C>] extends [InputOf<R>]
    ? unknown
    : Problem<'the onFailure step must take the same input as this step'>;

/**
 * Marks a class as a Step: `execute(input, ctx)` returns a Decision, and the optional `waitFor(input, ctx)` a Wait (S1). The
 * constructor declares which Attributes, Channels and services it uses. The name [class name] is stored: give one where code
 * is minified. Does not compile when the input cannot be stored, or `waitFor` or the recovery Step takes another one.
 */
export function Step<const D extends readonly Token[] = any[], R extends AnyStep = any>(
  options: StepOptions<D, R> = {},
) {
  return <C extends new (...deps: Resolved<D>) => StepShape>(
    target: C & WaitForInput<C> & RecoveryInput<C, R> & MustStore<InputOf<C>, 'input'>,
  ): void => recordStep(target, options);
}
