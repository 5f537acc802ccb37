import type { Event, EventBody } from '../core';
import { decode } from '../values';

/** One event of a run's history, its values decoded. */
export interface HistoryEvent {
  /** From 1, in order. */
  readonly number: number;
  readonly at: Date;
  readonly kind: EventBody['kind'];
  /** The event's own fields. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export function historyEvent(number: number, { at, kind, ...fields }: Event): HistoryEvent {
  return { number, at: new Date(at), kind, fields: decodePayloads(fields) as Record<string, unknown> };
}

/** Every byte array in an event is an encoded value. */
function decodePayloads(part: unknown): unknown {
  if (part instanceof Uint8Array) return decode(part);
  if (Array.isArray(part)) return part.map(decodePayloads);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, decodePayloads(value)]));
}
