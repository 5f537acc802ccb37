import { type FlowClass, type RpcProxy, transactionHere } from '../authoring';
import type { CompiledFlow, RpcBinding } from '../compiler';
import { HoldfastError } from '../errors';
import { decode, encode } from '../values';

/** One call made through a proxy, by names and bytes. */
export interface ProxyCall {
  readonly binding: RpcBinding;
  readonly args: Uint8Array;
}

/**
 * An object with the public methods of a Flow class, each of which sends a call. Symbols, `then` and `toJSON` are undefined,
 * so that awaiting or printing the proxy is harmless.
 */
export function rpcProxy<F extends FlowClass>(
  flow: CompiledFlow,
  flowId: string,
  send: (call: ProxyCall) => Promise<unknown>,
): RpcProxy<InstanceType<F>> {
  return new Proxy(Object.create(null), {
    get(_, method) {
      if (typeof method !== 'string' || method === 'then' || method === 'toJSON') return undefined;
      return async (...args: unknown[]) => {
        const binding = flow.rpcOf(method);
        if (!binding) throw notMarked(flow, method);
        if (transactionHere() === flowId) throw callsItself(flowId, method);
        const answer = await send({ binding, args: encode(args, `arguments of ${binding.name}`) });
        return decode(answer as Uint8Array);
      };
    },
  });
}

function notMarked(flow: CompiledFlow, method: string): HoldfastError {
  return new HoldfastError('DEFINITION', `${flow.type.name}.${method} is no RPC or Query.`, {
    where: flow.type.name,
    fix: 'Mark the method @Rpc() or @Query().',
  });
}

function callsItself(flowId: string, method: string): HoldfastError {
  return new HoldfastError(
    'INVALID_ARGUMENT',
    `${method} was called on ${JSON.stringify(flowId)} from inside a transactional RPC of the same Flow, which it would wait for.`,
    { where: flowId, fix: 'Call the method of the class itself, or publish a message.' },
  );
}
