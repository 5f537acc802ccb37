import assert from 'node:assert/strict';
import {
  type Client,
  type ErrorCode,
  type FlowClass,
  FlowFailedError,
  type HistoryEvent,
  HoldfastError,
} from '../../index';

/** The call is refused with this code, and its message says so much. */
export async function refuses(call: Promise<unknown>, code: ErrorCode, message?: RegExp): Promise<HoldfastError> {
  let error: unknown;
  try {
    await call;
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error !== undefined, `expected ${code}, and nothing was thrown`);
  assert.ok(error instanceof HoldfastError, `expected ${code}, and got ${error}`);
  assert.equal(error.code, code, error.message);
  if (message) assert.match(error.message, message);
  return error;
}

/** How a Flow ended that did not complete. */
export async function failureOf(client: Client, flow: FlowClass, flowId: string): Promise<FlowFailedError> {
  const result = await client.result(flow, flowId, { throwOnFailure: false });
  assert.notEqual(result.status, 'completed');
  assert.ok('error' in result && result.error instanceof FlowFailedError);
  return result.error;
}

export async function eventKinds(client: Client, flowId: string): Promise<string[]> {
  return (await client.history(flowId)).map(({ kind }) => kind);
}

export async function eventsOf(client: Client, flowId: string, kind: HistoryEvent['kind']): Promise<HistoryEvent[]> {
  return (await client.history(flowId)).filter((event) => event.kind === kind);
}

/** State per open execution, e.g. `{ 'Ship-1': 'waiting' }`. */
export async function stepStates(client: Client, flowId: string): Promise<Record<string, string>> {
  const { steps } = await client.describe(flowId);
  return Object.fromEntries(steps.map(({ stepExecutionId, state }) => [stepExecutionId, state]));
}
