import type { RpcOptions } from '../authoring';
import type { Class } from '../ports';
import { lineage, ownMetadata } from './own-metadata';

/** A method that clients call. */
export interface CallMark {
  readonly kind: 'rpc' | 'query';
  readonly method: string | symbol;
  readonly options: RpcOptions;
}

/** A method of a Flow class with a mark. `method` is its key in the class. */
export type MemberMark =
  | CallMark
  | { readonly kind: 'validator'; readonly method: string | symbol; readonly rpc: string }
  | { readonly kind: 'onTimeout'; readonly method: string | symbol };

const members = ownMetadata<readonly MemberMark[]>('members');

/** `prototype` is what a method decorator is given. */
export function recordMember(prototype: object, mark: MemberMark): void {
  const type = prototype.constructor as Class;
  members.write(type, [...(members.read(type) ?? []), mark]);
}

/**
 * The marks of a class and its ancestors. What a class says about an RPC, a validator or the time-out replaces what its
 * ancestors say about the same; base and siblings stay as they are (C66).
 */
export function readMembers(type: Class): readonly MemberMark[] {
  const slots = new Map<string | symbol, MemberMark[]>();
  for (const owner of lineage(type).reverse()) {
    const own = new Map<string | symbol, MemberMark[]>();
    for (const mark of members.read(owner) ?? []) {
      const slot = slotOf(mark);
      own.set(slot, [...(own.get(slot) ?? []), mark]);
    }
    for (const [slot, marks] of own) slots.set(slot, marks);
  }
  return [...slots.values()].flat();
}

export function isCall(mark: MemberMark): mark is CallMark {
  return mark.kind === 'rpc' || mark.kind === 'query';
}

function slotOf(mark: MemberMark): string | symbol {
  if (mark.kind === 'validator') return `validator ${mark.rpc}`;
  if (mark.kind === 'onTimeout') return 'onTimeout';
  return typeof mark.method === 'symbol' ? mark.method : `method ${mark.method}`;
}
