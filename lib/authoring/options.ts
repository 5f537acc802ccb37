import type { Durability, IndexKind, LockMode } from '../plan/plan';
import type { Duration } from '../values/duration';
import type { AttributeClass } from './attribute';
import type { AnyStep } from './types';

/** When and how often a failed method call is tried again (X1). */
export interface RetryOptions {
  /** Delay before the second attempt [1 s]. */
  readonly initialInterval?: Duration;
  /** Factor from one delay to the next, from 1 [2]. */
  readonly coefficient?: number;
  /** Longest delay [100 s, or the initial interval if that is longer]. */
  readonly maximumInterval?: Duration;
  /** Attempts in all, from 1; null for no limit [null]. */
  readonly maximumAttempts?: number | null;
  /** From the first hand-out; no further attempt starts after it. null for no limit [4 h]. */
  readonly totalDuration?: Duration | null;
  /** Share of each delay that is drawn at random, from 0 to 1 [0]. */
  readonly jitter?: number;
  /** Error classes, or their names, that end the call at once. */
  readonly nonRetryable?: readonly (string | (abstract new (...args: never[]) => Error))[];
}

export interface MethodOptions {
  /** Longest time one attempt may take [2 h]. */
  readonly timeout?: Duration;
  /** Longest time without a sign of life of the worker [60 s]. */
  readonly heartbeatTimeout?: Duration;
  /** Longest time in the queue before a worker takes it; null for no limit [null]. */
  readonly startTimeout?: Duration | null;
  readonly retry?: RetryOptions;
  /** `SYNC` or `ASYNC` [the Flow's] (P1). */
  readonly durability?: Durability;
  /** [the Flow's] (T1) */
  readonly taskQueue?: string;
}

/** An Attribute to lock: the class, for its own mode, or a mode and for a map a path into the input (L1). */
export type LockRequest =
  | AttributeClass
  | { readonly attribute: AttributeClass; readonly mode?: LockMode; readonly key?: string };

/** What a movement may replace of its Step's options, field by field (S9). */
export interface MovementOptions extends MethodOptions {
  /** Recovery Step when `execute` has used up its attempts; null to fail the Flow (X8). */
  readonly onFailure?: (() => AnyStep) | null;
  /** When `waitFor` has used up its attempts: `fail` the Flow or `proceed` to `execute` [fail] (X7). */
  readonly onWaitForFailure?: 'fail' | 'proceed';
  /** Locks that differ from what the constructor says (L1). */
  readonly locks?: readonly LockRequest[];
  /** Settings of `waitFor` only. */
  readonly waitFor?: MethodOptions;
  /** Settings of `execute` only. */
  readonly execute?: MethodOptions;
}

export interface Naming {
  /** Stored and shown [the class's or method's name]. Give one where code is minified (F1). */
  readonly name?: string;
  /** Earlier names, for what is already stored (V3). */
  readonly aliases?: readonly string[];
}

/** A class, or what a container binds under a name. */
export type Token = (abstract new (...args: any[]) => unknown) | string | symbol;

export interface Injecting<D extends readonly Token[] = readonly Token[]> {
  /** The constructor's parameters, for build tools that emit no design types (esbuild, tsx, vitest). */
  readonly inject?: readonly [...D];
}

export interface StepOptions<D extends readonly Token[] = readonly Token[], R extends AnyStep = AnyStep>
  extends MovementOptions,
    Naming,
    Injecting<D> {
  /** Recovery Step when `execute` has used up its attempts; it must take the same input. [fail the Flow] (X8) */
  readonly onFailure?: (() => R) | null;
}

export interface HistoryLimit {
  /** [10,000] */
  readonly events?: number;
  /** [16 MiB] */
  readonly bytes?: number;
}

export interface FlowOptions<D extends readonly Token[] = readonly Token[]> extends Naming, Injecting<D> {
  /** From start, kept over continue-as-new; null for none [null] (F7). */
  readonly timeout?: Duration | null;
  /** [`handler` if there is a method marked `@OnTimeout`, else `fail`] (F7) */
  readonly onTimeout?: 'fail' | 'cancel' | 'handler';
  /** [`default`] (T1) */
  readonly taskQueue?: string;
  /** [`SYNC`] (P1) */
  readonly durability?: Durability;
  /** Events, or events and bytes, after which the history rolls (N3). */
  readonly historyLimit?: number | HistoryLimit;
  /** How long a closed run is kept [7 d] (N5). */
  readonly retention?: Duration;
  /** SubFlows of one run that are starting or open at a time; the others begin as those close, first asked first [no limit] (U6). */
  readonly childrenAtOnce?: number;
}

/** Turns values into something that can be stored, and back (A3). */
export interface Codec<T = any> {
  /** Stored with each value, so that it can be read after the codec changed. */
  readonly name: string;
  encode(value: T): unknown;
  decode(stored: unknown): T;
}

/** A validator of the Standard Schema kind, as zod, valibot and others give. */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
  };
}

export interface AttributeOptions<T = any> extends Naming {
  /** How the value can be searched for (A4). Not for maps. */
  readonly index?: IndexKind;
  readonly codec?: Codec<T>;
  /** Checked on `set`; a failing value is refused. */
  readonly schema?: StandardSchema;
}

export interface ChannelOptions extends Naming {}

export interface TakingContext {
  /** The last parameter is an `RpcContext`; only to be said where the build tool emits no design types [from those]. */
  readonly context?: boolean;
}

export interface RpcOptions extends Naming, TakingContext {
  /** [60 s] (R8) */
  readonly deadline?: Duration;
  /** Attributes the call locks (L1). */
  readonly locks?: readonly LockRequest[];
  /** Whether the call waits for its locks or is rejected at once [wait] (L5). */
  readonly onLockConflict?: 'wait' | 'reject';
  /** [false] (R7) */
  readonly transactional?: boolean;
}

export interface QueryOptions extends Naming, TakingContext {
  /** [60 s] (R8) */
  readonly deadline?: Duration;
}
