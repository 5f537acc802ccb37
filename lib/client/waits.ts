import { isDeepStrictEqual } from 'node:util';
import type { AttributeClass, AttributeValue } from '../authoring';
import type { CompiledFlow } from '../compiler';
import { addressOf } from '../core';
import type { ReadWhat } from '../dispatch';
import type { AttributeSeen, Outcome } from '../engine';
import { HoldfastError } from '../errors';
import { decodeAttribute } from '../worker';
import { bindingOf } from './attribute-values';
import type { Requests, RunOptions } from './requests';

/** What an Attribute is waited for to be: a value, or a predicate that is given undefined where there is no value. */
export type AttributeCondition<A extends AttributeClass> =
  | AttributeValue<A>
  | ((value: AttributeValue<A> | undefined) => boolean);

/** How the last run of a chain ended (N4, K3). */
export async function waitForOutcome(requests: Requests, flowId: string, options: RunOptions): Promise<Outcome> {
  const read = readsOf(requests, flowId, options);
  let outcome = await read<Outcome>({ kind: 'outcome' });
  while (outcome.nextRunId !== null) outcome = await read<Outcome>({ kind: 'outcome' }, outcome.nextRunId);
  return outcome;
}

export async function waitForStepEnd(
  requests: Requests,
  flowId: string,
  execution: string,
  options: RunOptions,
): Promise<void> {
  const read = readsOf(requests, flowId, options);
  type Ended = { readonly nextRunId: string | null };
  let ended = await read<Ended>({ kind: 'stepEnd', execution });
  while (ended.nextRunId !== null) ended = await read<Ended>({ kind: 'stepEnd', execution }, ended.nextRunId);
}

/** Looks at the Attribute again each time it has been written, until the condition holds; gives the value that it held for. */
export async function waitForAttribute<A extends AttributeClass>(
  requests: Requests,
  flow: CompiledFlow,
  flowId: string,
  attribute: A,
  condition: AttributeCondition<A>,
  { key, ...options }: RunOptions & { readonly key?: string },
): Promise<AttributeValue<A>> {
  const binding = bindingOf(flow, attribute);
  const address = addressOf(binding.name, key);
  const read = readsOf(requests, flowId, options);
  for (let seen: string | null = null, runId = options.runId; ; ) {
    const found: AttributeSeen = await read({ kind: 'attribute', address, seen }, runId);
    const value = (found.value === null ? undefined : decodeAttribute(binding, found.value)) as AttributeValue<A>;
    if (holds(condition, value)) return value;
    if (found.status === 'running') {
      seen = found.cursor;
      continue;
    }
    if (found.nextRunId === null) {
      const name = key === undefined ? binding.name : `${binding.name} of ${JSON.stringify(key)}`;
      throw new HoldfastError(
        'ATTRIBUTE_NOT_REACHED',
        `${JSON.stringify(flowId)} closed as ${found.status}, and its ${name} was not as it was waited for.`,
        { where: flowId },
      );
    }
    runId = found.nextRunId;
    seen = null;
  }
}

function holds(condition: unknown, value: unknown): boolean {
  return typeof condition === 'function' ? condition(value) === true : isDeepStrictEqual(value, condition);
}

/** Reads that wait, one after another, under one deadline. */
function readsOf(requests: Requests, flowId: string, options: RunOptions) {
  const left = requests.timeLeft(options);
  return async <T>(what: ReadWhat, runId = options.runId): Promise<T> =>
    (await requests.read(flowId, what, { ...left(), ...(runId !== undefined && { runId }) }, true)) as T;
}
