import type { AttributeClass, AttributeValue } from '../authoring';
import type { CompiledFlow } from '../compiler';
import { type Address, type AttributeWrite, addressOf, keyOf, nameOf, type Payload } from '../core';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { decodeAttribute, encodeAttribute } from '../worker';

/** An Attribute's value to start a Flow with (F8); made by `initially`. */
export interface InitialAttribute {
  readonly attribute: AttributeClass;
  readonly key: string | undefined;
  readonly value: unknown;
}

/** A value to start with: `initially(Balance, 100)`, or for a map `initially(Limits, 'eu', 5)` (F8). */
export function initially<A extends AttributeClass>(attribute: A, value: AttributeValue<A>): InitialAttribute;
export function initially<A extends AttributeClass>(
  attribute: A,
  key: string,
  value: AttributeValue<A>,
): InitialAttribute;
export function initially(attribute: AttributeClass, ...rest: unknown[]): InitialAttribute {
  return rest.length > 1
    ? { attribute, key: rest[0] as string, value: rest[1] }
    : { attribute, key: undefined, value: rest[0] };
}

export function lowerInitial(flow: CompiledFlow, initial: readonly InitialAttribute[]): AttributeWrite[] {
  return initial.map(({ attribute, key, value }) => {
    const binding = bindingOf(flow, attribute);
    return [addressOf(binding.name, key), encodeAttribute(binding, value, key)];
  });
}

/** The Attributes of a run at one moment, as `client.attributes` gives them (A5). */
export class AttributeValues {
  private readonly values: ReadonlyMap<Address, Payload>;

  constructor(
    private readonly flow: CompiledFlow,
    values: readonly (readonly [Address, Payload])[],
  ) {
    // A run may have them under earlier names (V3).
    const own = (address: Address) => flow.attributeNamed(nameOf(address))?.name ?? nameOf(address);
    this.values = new Map(values.map(([address, value]) => [addressOf(own(address), keyOf(address)), value]));
  }

  /** The value, of a map that of `key`; undefined where there is none. Throws `INVALID_ARGUMENT` for a foreign Attribute. */
  get<A extends AttributeClass>(attribute: A, key?: string): AttributeValue<A> | undefined {
    const binding = bindingOf(this.flow, attribute);
    const value = this.values.get(addressOf(binding.name, key));
    return value === undefined ? undefined : (decodeAttribute(binding, value) as AttributeValue<A>);
  }

  /** The entries of a map. */
  entries<A extends AttributeClass>(attribute: A): Map<string, AttributeValue<A>> {
    const binding = bindingOf(this.flow, attribute);
    const entries = new Map<string, AttributeValue<A>>();
    for (const [address, value] of this.values) {
      const key = keyOf(address);
      if (nameOf(address) !== binding.name || key === undefined) continue;
      entries.set(key, decodeAttribute(binding, value) as AttributeValue<A>);
    }
    return entries;
  }
}

/** Throws `INVALID_ARGUMENT` for an Attribute that is not one of the Flow's. */
export function bindingOf(flow: CompiledFlow, attribute: AttributeClass) {
  const binding = flow.attributeOf(attribute as unknown as Class);
  if (binding) return binding;
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `The Flow ${flow.plan.name} has no Attribute ${attribute?.name ?? String(attribute)}.`,
    { where: flow.plan.name },
  );
}
