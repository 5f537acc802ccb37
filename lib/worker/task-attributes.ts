import type { AttributeAccess } from '../authoring';
import type { AttributeBinding, CompiledFlow } from '../compiler';
import { type Address, type AttributeWrite, addressOf, keyOf, nameOf, type Payload } from '../core';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { decodeAttribute, encodeAttribute } from './attribute-value';
import { type CallScope, notTaken, refuseReadOnly } from './call-scope';

/** What a call sees of the Attributes: the snapshot it was handed out with, and its own writes on top (S6). */
export class TaskAttributes implements AttributeAccess {
  private readonly snapshot: ReadonlyMap<Address, Payload>;
  private readonly staged = new Map<Address, Payload | null>();

  constructor(
    private readonly scope: CallScope,
    private readonly flow: CompiledFlow,
    snapshot: readonly (readonly [Address, Payload])[],
  ) {
    this.snapshot = new Map(snapshot);
  }

  read(type: Class, key: string | undefined): unknown {
    const binding = this.binding(type);
    const value = this.at(this.address(binding, key));
    return value === undefined ? undefined : decodeAttribute(binding, value);
  }

  write(type: Class, key: string | undefined, value: unknown): void {
    const binding = this.binding(type);
    const address = this.writable(binding, key);
    this.staged.set(address, encodeAttribute(binding, value, key));
  }

  remove(type: Class, key: string | undefined): void {
    this.staged.set(this.writable(this.binding(type), key), null);
  }

  keys(type: Class): string[] {
    const { name } = this.binding(type);
    const addresses = new Set([...this.snapshot.keys(), ...this.staged.keys()]);
    return [...addresses].flatMap((address) =>
      nameOf(address) === name && this.at(address) !== undefined ? [keyOf(address)!] : [],
    );
  }

  /** The writes of the call, in the order in which the values were first set. */
  writes(): AttributeWrite[] {
    return [...this.staged];
  }

  private at(address: Address): Payload | undefined {
    const staged = this.staged.get(address);
    return staged === undefined ? this.snapshot.get(address) : (staged ?? undefined);
  }

  private binding(type: Class): AttributeBinding {
    const binding = this.flow.attributeOf(type);
    if (binding && this.scope.attributes.includes(binding.name)) return binding;
    throw notTaken(this.scope, type);
  }

  private address(binding: AttributeBinding, key: string | undefined): Address {
    const address = addressOf(binding.name, key);
    const ofThisMap = this.scope.locks.filter((lock) => nameOf(lock.address) === binding.name);
    // A call that locked single entries was given only those (L1).
    if (ofThisMap.length > 0 && ofThisMap.every((lock) => lock.address !== binding.name && lock.address !== address)) {
      const held = ofThisMap.map((lock) => JSON.stringify(keyOf(lock.address))).join(', ');
      throw new HoldfastError(
        'DEFINITION',
        `${this.scope.label} touched the entry ${JSON.stringify(key)} of ${binding.name}, and holds the lock of ${held} only.`,
        { where: this.scope.owner, fix: `Touch only the locked entry, or lock ${binding.name} as a whole.` },
      );
    }
    return address;
  }

  private writable(binding: AttributeBinding, key: string | undefined): Address {
    refuseReadOnly(this.scope, binding.name);
    const address = this.address(binding, key);
    if (binding.plan.lock === 'none') return address;
    const holds = this.scope.locks.some(
      (lock) => lock.mode === 'exclusive' && (lock.address === address || lock.address === binding.name),
    );
    if (holds) return address;
    throw new HoldfastError(
      'DEFINITION',
      `${this.scope.label} wrote the locked Attribute ${binding.name} without its exclusive lock.`,
      {
        where: this.scope.owner,
        fix: 'Write it where its exclusive lock is held: in execute, or in an RPC that names it in locks. waitFor takes none.',
      },
    );
  }
}
