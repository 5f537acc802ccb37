import { RetryAfter, runInvocation } from '../authoring';
import type { Compiled, CompiledFlow } from '../compiler';
import type { Outcome, Task } from '../core';
import { HoldfastError } from '../errors';
import { timeoutStep } from '../plan';
import type { Clock, HandlerResolver, Logger, Telemetry } from '../ports';
import { decode, isA, toFailure } from '../values';
import { lowerDecision, lowerWait } from './lower-result';
import { StepInvocation } from './step-invocation';

interface StepHandler {
  waitFor?(input: unknown, context: unknown): unknown;
  execute(input: unknown, context: unknown): unknown;
}

export interface AttemptParts {
  readonly compiled: Compiled;
  readonly resolver: HandlerResolver;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly telemetry?: Telemetry | undefined;
  onHeartbeat?(value: Uint8Array | null): void;
}

/** Runs one method of a Step in the user's code; whatever happens there becomes an outcome. Never throws. */
export async function runAttempt(task: Task, flow: CompiledFlow, parts: AttemptParts): Promise<Outcome> {
  const began = parts.clock.monotonic();
  const outcome = await attempt(task, flow, parts);
  const labels = { flow: flow.plan.name, step: task.step, method: task.method, outcome: outcome.kind };
  parts.telemetry?.measure('step', parts.clock.monotonic() - began, labels);
  return outcome;
}

async function attempt(task: Task, flow: CompiledFlow, parts: AttemptParts): Promise<Outcome> {
  let invocation: StepInvocation | undefined;
  try {
    invocation = new StepInvocation(task, flow, parts.signal, parts.logger, parts.compiled, parts.onHeartbeat);
    const resolved = await parts.resolver.resolve(flow.stepType(task.step)!);
    try {
      return await call(task, flow, invocation, resolved.handler as StepHandler);
    } finally {
      invocation.ended = true;
      await resolved.release?.();
    }
  } catch (error) {
    return failed(error, invocation);
  }
}

async function call(
  task: Task,
  flow: CompiledFlow,
  invocation: StepInvocation,
  handler: StepHandler,
): Promise<Outcome> {
  const input = task.input === null ? undefined : decode(task.input);
  const returned = await runInvocation(invocation, async () =>
    task.method === 'waitFor'
      ? handler.waitFor!(input, invocation.context)
      : task.step === timeoutStep
        ? (handler as unknown as Record<string, (context: unknown) => unknown>)[flow.timeoutMethod!]!(
            invocation.context,
          )
        : handler.execute(input, invocation.context),
  );
  // From here on nothing more can be staged (A6).
  invocation.ended = true;
  if (task.method === 'waitFor')
    return { ...lowerWait(returned, task, flow, invocation.children), staged: invocation.staged() };
  return { kind: 'decided', staged: invocation.staged(), decision: lowerDecision(returned, task, flow) };
}

function failed(error: unknown, invocation: StepInvocation | undefined): Outcome {
  const later = isA(error, RetryAfter) ? error : undefined;
  return {
    kind: 'failed',
    failure: toFailure(later ? (later.cause ?? later) : error),
    definition: isA(error, HoldfastError) && error.kind === 'definition',
    retryAfterMs: later?.delayMs ?? null,
    ...(invocation?.heartbeat && { heartbeat: invocation.heartbeat.value }),
  };
}
