import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import type { AttributeClass } from './attribute';
import type { ChannelClass } from './channel';
import type { MovementOptions } from './options';
import type { MustStore } from './storable';
import type { AnyStep, FlowClass, FlowInput, InputArgs, InputOf } from './types';

const decisionBrand = Symbol.for('holdfast.decision');
declare const target: unique symbol;
declare const answer: unique symbol;

/** Cancellations that a decision asks for (D6). */
export interface Cancels {
  readonly steps: readonly AnyStep[];
  /** Only executions with the same parent execution, instead of the whole Flow. */
  readonly siblingsOnly: boolean;
}

/** One Step to schedule, its input and what it replaces of the Step's options (S9). Made by `to`. */
export class Movement<S extends AnyStep = any> {
  declare readonly [target]?: (step: S) => S;

  constructor(
    readonly step: AnyStep,
    readonly input: unknown,
    readonly options: MovementOptions = {},
  ) {
    Object.freeze(this);
  }

  /** The same movement with options that replace the Step's, field by field; later ones win. */
  with(options: MovementOptions): Movement<S> {
    return new Movement(this.step, this.input, { ...this.options, ...options });
  }
}

/** What `execute` returns: where this branch of the Flow goes (D). Immutable. */
export abstract class Decision {
  declare readonly [decisionBrand]: true;
  abstract readonly kind: string;
  declare readonly cancels?: Cancels;

  /** Also cancels queued, waiting and running executions of these Steps in the whole Flow (D6). */
  cancelling(...steps: AnyStep[]): this {
    return withCancels(this, steps, false);
  }

  /** Also cancels executions of these Steps that were scheduled by the same execution as this one (D6). */
  cancellingSiblings(...steps: AnyStep[]): this {
    return withCancels(this, steps, true);
  }
}

Object.defineProperty(Decision.prototype, decisionBrand, { value: true });

/** Schedules Steps, in parallel when there are several (D1). */
export class GoTo<S extends AnyStep = any> extends Decision {
  declare readonly [target]?: (step: S) => S;
  readonly kind = 'goTo';

  constructor(readonly movements: readonly Movement[]) {
    super();
    Object.freeze(movements);
  }

  /** Options for the one movement of a `goTo`. Throws `DEFINITION` on a `goToMany`: there each `to(…)` has its own. */
  with(options: MovementOptions): GoTo<S> {
    if (this.movements.length !== 1) {
      throw new HoldfastError('DEFINITION', `goToMany(…).with() does not say which of its movements is meant.`, {
        where: 'goToMany',
        fix: 'Give the options to each movement: goToMany(to(A, input).with({ … }), …).',
      });
    }
    return copy(this, { movements: Object.freeze([this.movements[0].with(options)]) });
  }
}

/** Ends the branch and asks for completion (D2). */
export class GracefulComplete<O = any> extends Decision {
  declare readonly [answer]: O;
  readonly kind = 'gracefulComplete';

  constructor(
    readonly hasOutput: boolean,
    readonly output: unknown,
  ) {
    super();
  }
}

/** Closes the Flow as completed at once (D3). */
export class ForceComplete<O = any> extends Decision {
  declare readonly [answer]: O;
  readonly kind = 'forceComplete';

  constructor(
    readonly hasOutput: boolean,
    readonly output: unknown,
  ) {
    super();
  }
}

/** Closes the Flow as failed at once (D3). */
export class ForceFail extends Decision {
  readonly kind = 'forceFail';

  constructor(readonly reason: string | Error) {
    super();
  }
}

/** Completes the Flow if Channels are empty, and else goes on (D5). */
export class CompleteIfEmpty<O = any, S extends AnyStep = any> extends Decision {
  declare readonly [answer]: O;
  declare readonly [target]?: (step: S) => S;
  readonly kind = 'completeIfEmpty';

  constructor(
    readonly channels: readonly ChannelClass[],
    readonly hasOutput: boolean,
    readonly output: unknown,
    readonly otherwise: Movement,
  ) {
    super();
  }
}

/** Ends the run and begins the next one of the same flowId (D7, N2). */
export class ContinueAsNew extends Decision {
  readonly kind = 'continueAsNew';

  constructor(
    readonly flow: Class,
    readonly input: unknown,
    readonly carry: Carry,
  ) {
    super();
  }
}

/** What goes along to the next run besides all that is open. */
export interface Carry {
  /** Attributes that go along [all]. */
  readonly attributes?: readonly AttributeClass[];
}

/** Ends the branch and nothing else (D4). */
export class DeadEnd extends Decision {
  readonly kind = 'deadEnd';
}

/** Goes on to one Step. Its input must be what that Step takes. */
export function goTo<S extends AnyStep>(step: S, ...input: InputArgs<InputOf<S>>): GoTo<S> {
  return new GoTo<S>([movement('goTo', step, input[0])]);
}

/** A movement for `goToMany`; `.with(options)` replaces the Step's options for it. */
export function to<S extends AnyStep>(step: S, ...input: InputArgs<InputOf<S>>): Movement<S> {
  return movement('to', step, input[0]);
}

/** Goes on to several Steps in parallel, at least one (D1). Throws `DEFINITION` for an empty list. */
export function goToMany<const M extends readonly [Movement, ...Movement[]]>(...movements: M): GoTo<StepOf<M[number]>>;
export function goToMany<M extends Movement>(movements: readonly M[]): GoTo<StepOf<M>>;
export function goToMany(first: Movement | readonly Movement[], ...rest: Movement[]): GoTo {
  const movements = Array.isArray(first) ? [...first] : [first as Movement, ...rest];
  if (first === undefined || movements.length === 0) {
    throw new HoldfastError('DEFINITION', 'goToMany was given no movement.', {
      where: 'goToMany',
      fix: 'Give at least one to(Step, input), or return deadEnd() or gracefulComplete().',
    });
  }
  // By shape, so that a movement made by another copy of the library counts too.
  if (movements.some((each) => typeof each?.step !== 'function' || typeof each.with !== 'function')) {
    throw new HoldfastError('DEFINITION', 'goToMany was given something that is not a movement.', {
      where: 'goToMany',
      fix: 'Make each movement with to(Step, input).',
    });
  }
  return new GoTo(movements);
}

/**
 * Ends the branch and asks for completion: the Flow completes when no Step is queued or active (D2). The output, if given,
 * becomes one of the Flow's outputs.
 */
export function gracefulComplete(): GracefulComplete<undefined>;
export function gracefulComplete<O>(output: O & MustStore<O, 'output'>): GracefulComplete<O>;
export function gracefulComplete(...output: unknown[]): GracefulComplete {
  return new GracefulComplete(output.length > 0 && output[0] !== undefined, output[0]);
}

/** Closes the Flow as completed at once; other executions are cancelled in the same write (D3). */
export function forceComplete(): ForceComplete<undefined>;
export function forceComplete<O>(output: O & MustStore<O, 'output'>): ForceComplete<O>;
export function forceComplete(...output: unknown[]): ForceComplete {
  return new ForceComplete(output.length > 0 && output[0] !== undefined, output[0]);
}

/**
 * Completes the Flow with `output` if none of these Channels has an unread message, of a map under any key; else takes the
 * movement `otherwise`. RPCs that have started are finished first; then the test and the close are one step against
 * concurrent publishes, so that no message is left behind (D5).
 */
export function completeIfEmpty<O, M extends Movement>(
  channels: readonly ChannelClass[],
  output: O & MustStore<O, 'output'>,
  otherwise: M,
): CompleteIfEmpty<O, StepOf<M>> {
  if (!Array.isArray(channels) || channels.length === 0) {
    throw new HoldfastError('DEFINITION', 'completeIfEmpty was given no Channel.', {
      where: 'completeIfEmpty',
      fix: 'Give the classes of the Channels that have to be empty, e.g. [Approvals].',
    });
  }
  if (!(otherwise instanceof Movement)) {
    throw new HoldfastError(
      'DEFINITION',
      'completeIfEmpty needs a movement for the case that a Channel is not empty.',
      {
        where: 'completeIfEmpty',
        fix: 'Give to(Step, input) as the last argument.',
      },
    );
  }
  return new CompleteIfEmpty(channels, output !== undefined, output, otherwise);
}

/**
 * Ends this branch, closes the run and begins the next one of the same flowId with an empty history, in one atomic write:
 * `continueAsNew(CartFlow, input)`. Unread messages, other executions, timers, locks and started RPCs go along; what shall
 * not is named with `cancelling(…)` (N2). `flow` is the Step's own Flow, `input` what its start Step takes.
 */
export function continueAsNew<F extends FlowClass>(
  flow: F,
  ...rest: [...input: InputArgs<FlowInput<F>>] | [input: FlowInput<F>, carry: Carry]
): ContinueAsNew {
  return new ContinueAsNew(flow as unknown as Class, rest[0], (rest[1] as Carry | undefined) ?? {});
}

/** Closes the Flow as failed at once, kind `decision`; other executions are cancelled in the same write (D3). */
export function forceFail(reason: string | Error): ForceFail {
  return new ForceFail(reason);
}

/** Ends the branch. With no completion asked, a Flow with no Step left keeps running (D4). */
export function deadEnd(): DeadEnd {
  return new DeadEnd();
}

export function isDecision(value: unknown): value is Decision {
  return typeof value === 'object' && value !== null && (value as Decision)[decisionBrand] === true;
}

type StepOf<M> = M extends Movement<infer S> ? S : never;

/** The Steps a decision type goes to; `never` for other decisions and where the Step is not known. */
export type TargetsOf<D> = D extends GoTo<infer S> | CompleteIfEmpty<any, infer S>
  ? 0 extends 1 & S
    ? never
    : S
  : never;

/** The output a decision type may give; `never` for decisions that give none. */
export type OutputOf<D> = D extends GracefulComplete<infer O> | ForceComplete<infer O> | CompleteIfEmpty<infer O>
  ? O
  : never;

function movement<S extends AnyStep>(use: string, step: S, input: unknown): Movement<S> {
  if (typeof step !== 'function') {
    throw new HoldfastError('DEFINITION', `${use} was given ${String(step)} instead of a Step class.`, {
      where: use,
      fix: 'Give the class; if it is undefined, two files import each other: name it in a function or a getter.',
    });
  }
  return new Movement<S>(step, input);
}

function withCancels<D extends Decision>(decision: D, steps: readonly AnyStep[], siblingsOnly: boolean): D {
  const before = decision.cancels;
  if (before && before.siblingsOnly !== siblingsOnly) {
    throw new HoldfastError('DEFINITION', 'A decision cannot cancel both in the whole Flow and among siblings.', {
      where: 'cancelling',
      fix: 'Use one of cancelling() and cancellingSiblings().',
    });
  }
  const all = Object.freeze([...new Set([...(before?.steps ?? []), ...steps])]);
  return copy(decision, { cancels: Object.freeze({ steps: all, siblingsOnly }) });
}

function copy<D extends Decision>(decision: D, change: object): D {
  return Object.assign(Object.create(Object.getPrototypeOf(decision)), decision, change);
}
