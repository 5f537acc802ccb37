import type { CallRequest } from '../../../dispatch';
import { decode } from '../../../values';
import type { CallScript } from '../workload/program';
import type { Durable } from './durable';

export interface AskedCall {
  readonly message: CallRequest;
  /** States of the flow that were durable when it was asked, over all its runs. */
  readonly statesBefore: number;
}

/** All that RPCs of a flow could have seen so far, over all its runs. */
export function statesOf(durable: Durable, flowId: string): string[] {
  return (durable.byFlow.get(flowId) ?? []).flatMap(({ pastStates }) => pastStates);
}

/** What is wrong with what the caller of an RPC or Query is told (R2, R6): its rule, and why. */
export function wrongAnswer(
  durable: Durable,
  { message, statesBefore }: AskedCall,
  value: unknown,
  isOwner: boolean,
): readonly [rule: string, what: string] | undefined {
  const { flowId, command } = message;
  const { rpc, requestId } = command;
  const answer = decode(value as Uint8Array);
  if (rpc === 'peek') {
    const states = statesOf(durable, flowId);
    const at = states.lastIndexOf(answer as string);
    if (at < 0) return ['P4', `${rpc} saw ${answer}, which is not durable`];
    return isOwner && at < statesBefore - 1
      ? ['R2', `${rpc} saw ${answer}, which was over when it was asked`]
      : undefined;
  }
  const saved = (durable.byFlow.get(flowId) ?? []).find(({ answers }) => answers.has(requestId));
  if (!saved) return ['P4', `${rpc} ${requestId} is answered, and it is not durable`];
  const expected = saved.answers.get(requestId);
  return answer === expected ? undefined : ['R6', `${rpc} ${requestId} is answered with ${answer}, not ${expected}`];
}

/** What is wrong with an error that the caller is told (R4, R5, R10). */
export function wrongError(
  durable: Durable,
  { message }: AskedCall,
  code: string,
  isOwner: boolean,
): readonly [rule: string, what: string] | undefined {
  const { flowId, command } = message;
  const { rpc, requestId } = command;
  const [script] = decode(command.args) as [CallScript];
  if (code === 'RPC_REJECTED' && !script.rejected) return ['R4', `${rpc} ${requestId} was rejected`];
  if (code === 'RPC_FAILED' && !script.throws) return ['R5', `${rpc} ${requestId} failed`];
  if (code === 'LOCK_CONFLICT' && rpc !== 'book') return ['L5', `${rpc} ${requestId} was turned down for a lock`];
  if (code === 'DEFINITION' || code === 'ID_CONFLICT') return ['R1', `${rpc} ${requestId} was refused: ${code}`];
  if (!isOwner) return undefined;
  const runs = durable.byFlow.get(flowId) ?? [];
  if (runs.some(({ answers }) => answers.has(requestId))) {
    return ['R6', `${rpc} ${requestId} is saved, and its caller is told ${code}`];
  }
  if (command.kind === 'startAndCall' && runs.some((run) => run.requestId === command.start.requestId)) {
    return ['R10', `${rpc} ${requestId} came to nothing (${code}), and its start is there`];
  }
  return undefined;
}
