import { AsyncLocalStorage } from 'node:async_hooks';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import type { SubFlowOptions } from './sub-flow';

/** The method call that user code runs in: what Attributes and Channels read from and stage their writes to. */
export interface Invocation {
  /** For messages, e.g. `o-1 Ship-1.execute`. */
  readonly label: string;
  /** Set before the result is collected, so that a forgotten await cannot write into it (A6). */
  ended: boolean;
  /** The flowId whose transactional RPC this is: a call to it from inside would wait for itself (R7). */
  readonly transactionOf?: string;
  readonly attributes: AttributeAccess;
  readonly channels: ChannelAccess;
  /** Stages the start of a SubFlow; gives its flowId. */
  startSubFlow(type: Class, input: unknown, options: SubFlowOptions): string;
}

/** `key` is undefined for a plain Attribute and the entry's key for a map. Staged writes are seen at once. */
export interface AttributeAccess {
  read(type: Class, key: string | undefined): unknown;
  write(type: Class, key: string | undefined, value: unknown): void;
  remove(type: Class, key: string | undefined): void;
  keys(type: Class): string[];
}

export interface ChannelAccess {
  publish(type: Class, key: string | undefined, value: unknown): void;
  /** Messages which the wait of this execution consumed from the Channel, in order; `[]` if it did not win. */
  received(type: Class, key: string | undefined): unknown[];
  /** How many messages are unread, from the snapshot plus staged publishes (C4). */
  size(type: Class, key: string | undefined): number;
  /** The first unread messages, at most 100 of them and 256 KiB. */
  pending(type: Class, key: string | undefined): unknown[];
}

const current = new AsyncLocalStorage<Invocation>();

/** Runs user code inside an invocation. */
export function runInvocation<T>(invocation: Invocation, run: () => T): T {
  return current.run(invocation, run);
}

/** The flowId whose transactional RPC is running here, if any. */
export function transactionHere(): string | undefined {
  return current.getStore()?.transactionOf;
}

/** Runs the library's own code outside of any invocation, so that what it creates does not keep one alive. */
export function outsideInvocation<T>(run: () => T): T {
  return current.exit(run);
}

/** The running invocation; throws `OUTSIDE_INVOCATION` where there is none or it has ended (A6). `use` names the call. */
export function currentInvocation(use: string): Invocation {
  const invocation = current.getStore();
  if (!invocation) {
    throw new HoldfastError('OUTSIDE_INVOCATION', `${use} was called outside of waitFor, execute or an RPC.`, {
      where: use,
    });
  }
  if (invocation.ended) {
    throw new HoldfastError(
      'OUTSIDE_INVOCATION',
      `${use} was called after ${invocation.label} had ended: is an await missing?`,
      { where: invocation.label },
    );
  }
  return invocation;
}
