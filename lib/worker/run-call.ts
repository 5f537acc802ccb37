import { runInvocation } from '../authoring';
import type { Compiled, CompiledFlow } from '../compiler';
import type { CallOutcome, CallTask } from '../core';
import { HoldfastError } from '../errors';
import type { Clock, HandlerResolver, Logger, Telemetry } from '../ports';
import { decode, encode, isA, toFailure } from '../values';
import { CallInvocation } from './call-invocation';

type Handler = Record<string, (...args: unknown[]) => unknown>;

export interface CallParts {
  readonly compiled: Compiled;
  readonly resolver: HandlerResolver;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly telemetry?: Telemetry | undefined;
}

/** Runs an RPC, its validator first, or a Query in the user's code; whatever happens there becomes an outcome. Never throws. */
export async function runCall(task: CallTask, flow: CompiledFlow, parts: CallParts): Promise<CallOutcome> {
  const began = parts.clock.monotonic();
  const outcome = await make(task, flow, parts);
  const result = outcome.kind === 'failed' ? outcome.code : outcome.kind;
  const labels = { flow: flow.plan.name, rpc: task.rpc, outcome: result };
  parts.telemetry?.measure('rpc', parts.clock.monotonic() - began, labels);
  return outcome;
}

async function make(task: CallTask, flow: CompiledFlow, parts: CallParts): Promise<CallOutcome> {
  try {
    const resolved = await parts.resolver.resolve(flow.type);
    try {
      const handler = resolved.handler as Handler;
      const { method, validator, contextAt } = flow.rpcNamed(task.rpc)!;
      const args = decode(task.args) as unknown[];
      if (validator !== undefined) {
        const rejected = await validate(task, flow, parts, () => handler[validator]!(...args));
        if (rejected) return rejected;
      }
      const invocation = new CallInvocation(task, flow, parts.compiled, { ...parts, readOnly: task.kind === 'query' });
      const given = contextAt === undefined ? args : [...upTo(args, contextAt), invocation.context];
      const returned = await within(invocation, () => handler[method]!(...given));
      const answer = encode(returned, `answer of ${task.rpc}`);
      return { kind: 'answered', answer, ...invocation.staged() };
    } finally {
      await resolved.release?.();
    }
  } catch (error) {
    const code = isA(error, HoldfastError) && error.kind === 'definition' ? 'DEFINITION' : 'RPC_FAILED';
    return { kind: 'failed', code, failure: toFailure(error) };
  }
}

/** As many arguments as stand before the context, so that one which the caller left out does not become it. */
function upTo(args: readonly unknown[], count: number): unknown[] {
  return Array.from({ length: count }, (_, i) => args[i]);
}

async function validate(
  task: CallTask,
  flow: CompiledFlow,
  parts: CallParts,
  run: () => unknown,
): Promise<CallOutcome | undefined> {
  try {
    await within(new CallInvocation(task, flow, parts.compiled, { ...parts, readOnly: true }), run);
    return undefined;
  } catch (error) {
    if (isA(error, HoldfastError) && error.kind === 'definition') throw error;
    return { kind: 'failed', code: 'RPC_REJECTED', failure: toFailure(error) };
  }
}

async function within(invocation: CallInvocation, run: () => unknown): Promise<unknown> {
  try {
    return await runInvocation(invocation, async () => run());
  } finally {
    invocation.ended = true;
  }
}
