/** An encoded user value. The core moves payloads and looks into one only to find a lock key. */
export type Payload = Uint8Array;

/** A place in an Attribute or Channel: its name, or its name and an entry's key for a map. NUL is in no name. */
export type Address = string;

export function addressOf(name: string, key?: string): Address {
  return key === undefined ? name : `${name}\u0000${key}`;
}

export function nameOf(address: Address): string {
  const at = address.indexOf('\u0000');
  return at < 0 ? address : address.slice(0, at);
}

export function keyOf(address: Address): string | undefined {
  const at = address.indexOf('\u0000');
  return at < 0 ? undefined : address.slice(at + 1);
}
