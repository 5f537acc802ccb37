import {
  type AttributeClass,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  DurableChannelMap,
} from '../../../authoring';
import { recordAttribute, recordChannel } from '../../../metadata';

/** Unlocked: the last write wins. */
export class Note extends DurableAttribute<string> {}
recordAttribute(Note, 'none', { name: 'Note' });

/** Unlocked, by key. */
export class Tags extends DurableAttributeMap<number> {}
recordAttribute(Tags, 'none', { name: 'Tags' });

/** Counted up under its exclusive lock: no increment may be lost. */
export class Counter extends DurableAttribute<number> {}
recordAttribute(Counter, 'exclusive', { name: 'Counter' });

/** Counted up entry by entry, each under a lock of its own. */
export class Ledger extends DurableAttributeMap<number> {}
recordAttribute(Ledger, 'exclusive', { name: 'Ledger' });

export class Letters extends DurableChannel<string> {}
recordChannel(Letters, { name: 'Letters' });

export class Parcels extends DurableChannelMap<string> {}
recordChannel(Parcels, { name: 'Parcels' });

export const parcelKeys = ['north', 'süd'] as const;
export const tagKeys = ['a', 'b/:'] as const;
export const accountKeys = ['x', 'y:\u{1F600}'] as const;

const attributes = { Note, Tags, Counter, Ledger } as const;

export function attributeNamed(name: string): AttributeClass {
  return attributes[name as keyof typeof attributes];
}
