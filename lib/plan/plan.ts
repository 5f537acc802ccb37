/** What the compiler makes of the annotated classes of one Flow: plain data, frozen, enough for an engine to decide with. */
export interface FlowPlan {
  readonly format: 1;
  readonly name: string;
  /** Stable over key order and process; two plans with the same fingerprint decide the same. */
  readonly fingerprint: string;
  readonly aliases: readonly string[];
  readonly start: string | null;
  readonly steps: Readonly<Record<string, StepPlan>>;
  readonly attributes: Readonly<Record<string, AttributePlan>>;
  readonly channels: Readonly<Record<string, ChannelPlan>>;
  /** What the Flow class itself takes in its constructor: all that its RPCs may touch. */
  readonly own: { readonly attributes: readonly string[]; readonly channels: readonly string[] };
  readonly rpcs: Readonly<Record<string, RpcPlan>>;
  /** Milliseconds from start, or null for none (F7). */
  readonly timeoutMs: number | null;
  readonly onTimeout: 'fail' | 'cancel' | 'handler';
  readonly taskQueue: string;
  readonly config: FlowConfig;
}

/** Settings of a Flow that can also be given per start and changed while it runs (F9). */
export interface FlowConfig {
  readonly durability: Durability;
  /** Events after which the history rolls. */
  readonly historyLimitEvents: number;
  readonly historyLimitBytes: number;
  readonly retentionMs: number;
  /** SubFlows that are starting or open at a time; absent: as many as are asked for (U6). */
  readonly childrenAtOnce?: number;
}

export type Durability = 'SYNC' | 'ASYNC';
export type MethodName = 'waitFor' | 'execute';
export type LockMode = 'none' | 'shared' | 'exclusive';

export interface StepPlan {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly hasWaitFor: boolean;
  /** Attributes in the constructor, in order: all that the Step may touch. */
  readonly attributes: readonly string[];
  readonly channels: readonly string[];
  readonly waitFor: MethodPlan;
  readonly execute: MethodPlan;
  readonly locks: readonly LockPlan[];
  /** Recovery Step taken when `execute` has used up its attempts (X8). */
  readonly onFailure: string | null;
  /** What happens when `waitFor` has used up its attempts (X7). */
  readonly onWaitForFailure: 'fail' | 'proceed';
}

export interface MethodPlan {
  readonly timeoutMs: number;
  readonly heartbeatTimeoutMs: number;
  /** Longest time in the queue before a worker takes it, or null for none. */
  readonly startTimeoutMs: number | null;
  readonly retry: RetryPolicy;
  /** null: as the Flow's config says (P1). */
  readonly durability: Durability | null;
  /** null: the Flow's queue. */
  readonly taskQueue: string | null;
}

export interface RetryPolicy {
  readonly initialIntervalMs: number;
  readonly coefficient: number;
  readonly maximumIntervalMs: number;
  /** null: unlimited. */
  readonly maximumAttempts: number | null;
  /** From the first hand-out; gates the next retry, never interrupts. null: unlimited. */
  readonly totalMs: number | null;
  /** 0 to 1: the share of each interval that is drawn at random. */
  readonly jitter: number;
  readonly nonRetryable: readonly string[];
}

export interface LockPlan {
  readonly attribute: string;
  readonly mode: 'shared' | 'exclusive';
  /** For a map: dotted path into the Step's input that gives the entry to lock; null locks the whole Attribute. */
  readonly keyPath: string | null;
}

/** What a movement may replace of its Step's options, field by field (S9); it travels with the movement. */
export interface StepOverrides {
  readonly waitFor?: Partial<MethodPlan>;
  readonly execute?: Partial<MethodPlan>;
  readonly locks?: readonly LockPlan[];
  readonly onFailure?: string | null;
  readonly onWaitForFailure?: 'fail' | 'proceed';
}

export type IndexKind = 'keyword' | 'text' | 'keywordArray' | 'int' | 'double' | 'bool' | 'datetime';

export interface AttributePlan {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly map: boolean;
  readonly lock: LockMode;
  readonly index: IndexKind | null;
}

export interface ChannelPlan {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly map: boolean;
}

export interface RpcPlan {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly kind: 'rpc' | 'query';
  readonly hasValidator: boolean;
  readonly locks: readonly LockPlan[];
  readonly onLockConflict: 'wait' | 'reject';
  readonly transactional: boolean;
  readonly deadlineMs: number;
}

/** The Step that a method marked `@OnTimeout` is lowered to (F7). */
export const timeoutStep = '@OnTimeout';

export const defaultRetry: RetryPolicy = {
  initialIntervalMs: 1_000,
  coefficient: 2,
  maximumIntervalMs: 100_000,
  maximumAttempts: null,
  totalMs: 4 * 3_600_000,
  jitter: 0,
  nonRetryable: [],
};

export const defaultMethod: MethodPlan = {
  timeoutMs: 2 * 3_600_000,
  heartbeatTimeoutMs: 60_000,
  startTimeoutMs: null,
  retry: defaultRetry,
  durability: null,
  taskQueue: null,
};

export const defaultConfig: FlowConfig = {
  durability: 'SYNC',
  historyLimitEvents: 10_000,
  historyLimitBytes: 16 * 1024 * 1024,
  retentionMs: 7 * 86_400_000,
};
