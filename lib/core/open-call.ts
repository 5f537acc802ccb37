import type { LockClaim } from './execution';
import type { Payload } from './payload';

/**
 * A call of an RPC or Query that is not answered. `held`: the Flow may be about to close. `locked`: queued for its locks.
 * `ready`: a worker may take it. `started`: handed out under `token`.
 */
export interface OpenCall {
  readonly requestId: string;
  readonly digest: string;
  readonly kind: 'rpc' | 'query';
  readonly rpc: string;
  readonly args: Payload;
  readonly trace?: string;
  readonly plan: string;
  readonly locks: readonly LockClaim[];
  readonly transactional: boolean;
  readonly state: 'held' | 'locked' | 'ready' | 'started';
  readonly token: string | null;
  readonly worker: string | null;
  /** It had its locks once, and no worker took it. */
  readonly untaken: boolean;
}

/** The name under which a call stands in the lock table; NUL keeps it apart from executions. */
export function callHolder(requestId: string): string {
  return `\u0000${requestId}`;
}

export function callOfHolder(holder: string): string | undefined {
  return holder.startsWith('\u0000') ? holder.slice(1) : undefined;
}

/** Whether an RPC's handler has been handed out: a Flow that closes lets it finish (R9). */
export function hasStartedCalls({ calls }: { readonly calls: ReadonlyMap<string, OpenCall> }): boolean {
  for (const open of calls.values()) if (open.kind === 'rpc' && open.state === 'started') return true;
  return false;
}
