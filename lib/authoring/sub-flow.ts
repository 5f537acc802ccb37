import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { currentInvocation } from './invocation';
import type { FlowClass, FlowInput } from './types';

/** What becomes of a SubFlow when its parent closes; there is no default (U3). */
export interface SubFlowOptions {
  /** `terminate` or `cancel` it, or `abandon` it to run on. */
  readonly parentClose: 'terminate' | 'cancel' | 'abandon';
  /** [made from the parent's flowId and the Step execution; the same for every attempt] */
  readonly flowId?: string;
  /**
   * When the flowId is taken: `attach` to its latest run, open or closed; `restartIfFailed` begins a new one if the latest
   * failed, and attaches to one that completed; `restart` always begins a new one [restartIfFailed] (U4).
   */
  readonly reuse?: 'attach' | 'restartIfFailed' | 'restart';
}

export interface SubFlowConditionOptions extends SubFlowOptions {
  /** For `ctx.subFlow(id)`, and in combinations. */
  readonly id?: string;
  /** Cancel the SubFlow when another candidate wins or the wait is cancelled [false] (U1). */
  readonly cancelWithWait?: boolean;
}

export interface SubFlowCondition {
  readonly kind: 'subFlow';
  readonly id?: string;
  readonly flow: Class;
  readonly input: unknown;
  readonly options: SubFlowOptions;
  readonly cancelWithWait: boolean;
}

/**
 * A condition of a wait: the SubFlow is started when the wait is saved, exactly once, and the condition holds when it has
 * closed, in any way; a start that is refused counts as closed with the reason (U1). `ctx.subFlow(id)` then tells how it ended.
 * Throws `DEFINITION` for options that make no sense.
 */
export function subFlow<F extends FlowClass>(
  flow: F,
  input: FlowInput<F>,
  options: SubFlowConditionOptions,
): SubFlowCondition {
  const { id, cancelWithWait = false, ...rest } = checked('subFlow', options);
  return Object.freeze({
    kind: 'subFlow',
    ...(id === undefined ? {} : { id }),
    ...{ flow: flow as unknown as Class, input, options: rest, cancelWithWait },
  });
}

/**
 * Starts a SubFlow without waiting for it, in `waitFor`, `execute` or an RPC; saved with the result of the call (S5, U1). Gives
 * the flowId it will have. Throws `DEFINITION`, `VALUE_NOT_STORABLE`, `OUTSIDE_INVOCATION`.
 */
export function startSubFlow<F extends FlowClass>(flow: F, input: FlowInput<F>, options: SubFlowOptions): string {
  const use = 'startSubFlow()';
  return currentInvocation(use).startSubFlow(flow as unknown as Class, input, checked('startSubFlow', options));
}

/** How a SubFlow ended, as its parent reads it (U2). */
export interface SubFlowOutcome<O = unknown> {
  readonly flowId: string;
  readonly status: 'completed' | 'failed' | 'cancelled' | 'terminated' | 'refused' | 'continuedAsNew';
  /** The only output; undefined for none or several. */
  readonly output: O | undefined;
  readonly outputs: readonly unknown[];
  /** Why it did not complete. */
  readonly error: Error | undefined;
}

const closePolicies = ['terminate', 'cancel', 'abandon'];
const reusePolicies = ['attach', 'restartIfFailed', 'restart'];

function checked<O extends SubFlowOptions>(use: string, options: O): O {
  if (!closePolicies.includes(options?.parentClose)) {
    throw new HoldfastError('DEFINITION', `${use} was not told what becomes of the SubFlow when its parent closes.`, {
      where: use,
      fix: "Give { parentClose: 'terminate' }, 'cancel' or 'abandon'.",
    });
  }
  if (options.reuse !== undefined && !reusePolicies.includes(options.reuse)) {
    throw new HoldfastError('DEFINITION', `${use}: reuse cannot be ${JSON.stringify(options.reuse)}.`, {
      where: use,
      fix: `Give one of ${reusePolicies.join(', ')}.`,
    });
  }
  return options;
}
