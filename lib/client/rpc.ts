import type { FlowClass, FlowInput, RpcProxy } from '../authoring';
import type { CompiledFlow, RpcBinding } from '../compiler';
import type { Payload } from '../core';
import { checkTrace } from '../values';
import { lowerStart } from './lower-start';
import type { Requests } from './requests';
import { rpcProxy } from './rpc-proxy';
import type { TracedOptions } from './settings';
import type { StartOptions } from './start-options';

/** The RPCs and Queries of a Flow that is there. */
export function rpcOf<F extends FlowClass>(
  requests: Requests,
  flow: F,
  flowId: string,
  { requestId, trace, ...options }: TracedOptions,
): RpcProxy<InstanceType<F>> {
  const compiled = requests.flow(flow);
  return rpcProxy<F>(compiled, flowId, ({ binding, args }) => {
    const identity = requests.identity(requestId, ['call', compiled.plan.name, binding.name, args]);
    const traced = trace === undefined ? {} : { trace: checkTrace(trace) };
    const command = { ...callOf(compiled, binding, args, identity), ...traced, kind: 'call' } as const;
    return requests.call(flowId, command, options, binding.plan.deadlineMs);
  });
}

/** The same of one that the call starts where it is not running (R10). */
export function startingRpcOf<F extends FlowClass>(
  requests: Requests,
  flow: F,
  flowId: string,
  input: FlowInput<F>,
  options: StartOptions,
): RpcProxy<InstanceType<F>> {
  const compiled = requests.flow(flow);
  const { command: start, call } = lowerStart(requests, compiled, input, options);
  return rpcProxy<F>(compiled, flowId, ({ binding, args }) => {
    const identity = requests.identity(options.requestId, ['startAndCall', start.digest, binding.name, args]);
    const command = { ...callOf(compiled, binding, args, identity), kind: 'startAndCall', start } as const;
    return requests.call(flowId, command, call, binding.plan.deadlineMs);
  });
}

function callOf(
  { plan: { fingerprint: plan, name: flow } }: CompiledFlow,
  { name: rpc }: RpcBinding,
  args: Payload,
  identity: { readonly requestId: string; readonly digest: string },
) {
  return { ...identity, plan, flow, rpc, args };
}
