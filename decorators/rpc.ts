import type { MustStore, QueryOptions, RpcArguments, RpcOptions } from '../lib/authoring';
import { recordMember } from '../lib/metadata';

/** As a property and not by `TypedPropertyDescriptor`, which is invariant and would refuse methods that take less. */
interface Method<F> {
  value?: F;
}

type Storable<A extends unknown[], R> = MustStore<RpcArguments<A>[number], 'argument'> &
  MustStore<Awaited<R>, 'answer'>;

/**
 * Marks a public method of a Flow class that clients call and that may write (R1, R3). Its writes are applied in one atomic
 * write, and the caller is answered after that is durable. Does not compile when an argument or the answer cannot be stored.
 */
export function Rpc(options: RpcOptions = {}) {
  return <A extends unknown[], R>(
    prototype: object,
    method: string | symbol,
    _descriptor: Method<(...args: A) => R> & Storable<A, R>,
  ): void => recordMember(prototype, { kind: 'rpc', method, options });
}

/** Marks a public method of a Flow class that reads the current state and writes nothing (R2). */
export function Query(options: QueryOptions = {}) {
  return <A extends unknown[], R>(
    prototype: object,
    method: string | symbol,
    _descriptor: Method<(...args: A) => R> & Storable<A, R>,
  ): void => recordMember(prototype, { kind: 'query', method, options });
}

/**
 * Marks a protected method of a Flow class that runs before the named RPC, with its arguments or the first of them (R4). It
 * throws, e.g. `RpcRejected`, to turn the call down. Does not compile for a method that the class lacks or other arguments.
 */
export function Validate<K extends string>(rpc: K) {
  return <T extends { [P in K]: (...args: never[]) => unknown }>(
    prototype: T,
    method: string | symbol,
    _descriptor: Method<(...args: Parameters<T[K]>) => void | Promise<void>>,
  ): void => recordMember(prototype, { kind: 'validator', method, rpc });
}
