import type { FlowPlan } from './plan';

/**
 * A stable hash of a plan: the same for every key order, process and machine (V2). FNV-1a with 64 bits over the canonical
 * JSON, so that two plans which differ anywhere are as good as never taken for one.
 */
export function fingerprintOf(plan: Omit<FlowPlan, 'fingerprint'>): string {
  return fnv1a64(canonicalJson(plan));
}

/** JSON with sorted keys; undefined members are left out. Takes plain data only. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

const offset = 0xcbf29ce484222325n;
const prime = 0x100000001b3n;
const mask = 0xffffffffffffffffn;

/** Hashes both bytes of each UTF-16 unit; 16 hex digits. */
function fnv1a64(text: string): string {
  let hash = offset;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    hash = ((hash ^ BigInt(unit & 0xff)) * prime) & mask;
    hash = ((hash ^ BigInt(unit >> 8)) * prime) & mask;
  }
  return hash.toString(16).padStart(16, '0');
}
