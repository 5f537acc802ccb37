import type { CompiledFlow } from '../compiler';
import type { StartCommand } from '../core';
import { HoldfastError } from '../errors';
import { checkTrace, encode } from '../values';
import { durationMs } from '../values/duration';
import { lowerInitial } from './attribute-values';
import type { Requests } from './requests';
import type { CallOptions } from './settings';
import { lowerConfig, type StartOptions } from './start-options';

/** A start by names and bytes, and the options of the call that carries it. Throws before anything is sent. */
export function lowerStart(
  requests: Requests,
  flow: CompiledFlow,
  input: unknown,
  options: StartOptions = {},
): { readonly command: StartCommand; readonly call: CallOptions } {
  const { requestId, startDelay, timeout, attributes, idReuse, trace, ...rest } = options;
  const { durability, historyLimit, retention, childrenAtOnce, ...call } = rest;
  const payload = input === undefined ? null : encode(input, `input of ${flow.plan.name}`);
  const writes = lowerInitial(flow, attributes ?? []);
  const settings = {
    reuse: idReuse ?? 'reject',
    startDelayMs: startDelay === undefined ? 0 : durationMs(startDelay, 'startDelay'),
    ...(timeout !== undefined && { timeoutMs: timeout === null ? null : durationMs(timeout, 'timeout') }),
    config: lowerConfig({ durability, historyLimit, retention, childrenAtOnce }),
  };
  checkReuse(settings.reuse);
  const command: StartCommand = {
    kind: 'start',
    ...requests.identity(requestId, ['start', flow.plan.name, payload, writes, settings]),
    plan: flow.plan.fingerprint,
    runId: requests.newRunId(),
    input: payload,
    attributes: writes,
    ...settings,
    ...(trace !== undefined && { trace: checkTrace(trace) }),
  };
  return { command, call };
}

function checkReuse(reuse: string): void {
  if (['reject', 'ifPreviousFailed', 'ifClosed', 'terminateRunning'].includes(reuse)) return;
  throw new HoldfastError('INVALID_ARGUMENT', `idReuse cannot be ${JSON.stringify(reuse)}.`);
}
