import type { Address, ClosedStatus, FailKind, Payload, RunState } from '../core';
import type { Failure } from '../values';

/** How a closed run ended. */
export interface Outcome {
  readonly runId: string;
  /** The run that goes on, for `continuedAsNew`. */
  readonly nextRunId: string | null;
  readonly status: ClosedStatus;
  readonly failKind: FailKind | null;
  readonly failure: Failure | null;
  readonly outputs: readonly { readonly stepExecutionId: string; readonly value: Payload }[];
}

export function outcomeOf(run: RunState): Outcome {
  const { runId, nextRunId, status, failKind, failure } = run.head;
  return {
    runId,
    nextRunId,
    status: status as ClosedStatus,
    failKind,
    failure,
    outputs: [...run.outputs.values()].map(({ execution, value }) => ({ stepExecutionId: execution, value })),
  };
}

export function attributesOf(run: RunState): (readonly [Address, Payload])[] {
  const values: (readonly [Address, Payload])[] = [];
  for (const address of run.attributes.all()) {
    const value = run.attributes.read(address);
    if (value !== undefined) values.push([address, value]);
  }
  return values;
}

/** Whether an execution was scheduled and has ended, in any way (O1); undefined if it was never scheduled. */
export function hasEnded(run: RunState, execution: string): boolean | undefined {
  if (run.executions.has(execution)) return false;
  const at = execution.lastIndexOf('-');
  const number = Number(execution.slice(at + 1));
  if (at > 0 && Number.isInteger(number) && number >= 1 && number <= (run.head.counters[execution.slice(0, at)] ?? 0)) {
    return true;
  }
  return undefined;
}

/** The value of one Attribute at this moment, as `waitForAttribute` looks at it. */
export interface AttributeSeen {
  readonly value: Payload | null;
  /** Another one after every write of it, over continue-as-new and time travels too. */
  readonly cursor: string;
  readonly status: 'running' | ClosedStatus;
  readonly nextRunId: string | null;
}

export function attributeSeen({ head, attributes }: RunState, address: Address): AttributeSeen {
  return {
    value: attributes.read(address) ?? null,
    cursor: `${head.chainId}/${attributes.versionOf(address) ?? ''}`,
    status: head.status,
    nextRunId: head.nextRunId,
  };
}
