import type { Outcome } from '../engine';
import { HoldfastError } from '../errors';
import { decode, fromFailure } from '../values';

/** One output of a Flow and the Step execution that gave it (D8). */
export interface FlowOutputEntry {
  readonly stepExecutionId: string;
  readonly value: unknown;
}

/** How a run ended, for `result` with `throwOnFailure: false` (K3). */
export type FlowResult<O> =
  | { readonly status: 'completed'; readonly runId: string; readonly output: O }
  | {
      readonly status: 'failed' | 'cancelled' | 'terminated';
      readonly runId: string;
      /** Only for `failed` (F10). */
      readonly failKind: Outcome['failKind'];
      readonly error: FlowFailedError;
    };

/** A Flow that ended without completing; `cause` is the error that ended it, as it was thrown. */
export class FlowFailedError extends HoldfastError {
  constructor(
    readonly flowId: string,
    readonly runId: string,
    readonly status: 'failed' | 'cancelled' | 'terminated',
    readonly failKind: Outcome['failKind'],
    cause: Error | undefined,
  ) {
    const kind = failKind === null ? '' : ` (${failKind})`;
    const why = cause === undefined ? '' : `: ${cause.name}: ${cause.message}`;
    super('FLOW_FAILED', `The Flow ${JSON.stringify(flowId)} is ${status}${kind}${why}`, { where: flowId, cause });
  }
}

export function outputsOf(outcome: Outcome): FlowOutputEntry[] {
  return outcome.outputs.map(({ stepExecutionId, value }) => ({ stepExecutionId, value: decode(value) }));
}

/** The only output; undefined for none. Throws `SEVERAL_OUTPUTS`. */
export function onlyOutput(flowId: string, outcome: Outcome): unknown {
  const { outputs } = outcome;
  if (outputs.length > 1) {
    const from = outputs.map(({ stepExecutionId }) => stepExecutionId).slice(0, 10);
    throw new HoldfastError(
      'SEVERAL_OUTPUTS',
      `The Flow ${JSON.stringify(flowId)} has ${outputs.length} outputs, from ${from.join(', ')}: there is no single result.`,
      { where: flowId },
    );
  }
  return outputs.length === 0 ? undefined : decode(outputs[0]!.value);
}

export function failureOf(flowId: string, outcome: Outcome): FlowFailedError | undefined {
  const { status, runId, failKind, failure } = outcome;
  if (status === 'completed' || status === 'continuedAsNew') return undefined;
  return new FlowFailedError(flowId, runId, status, failKind, failure ? fromFailure(failure) : undefined);
}
