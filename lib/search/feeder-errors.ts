import { HoldfastError } from '../errors';
import type { Feeder } from '../ports';

export function fenced({ shard }: Feeder): HoldfastError {
  return new HoldfastError('FENCED', `Shard ${shard} of the index is fed by another engine or system.`, {
    fix: 'Give each system a namespace of its own in the index; else nothing: the newer owner goes on.',
  });
}

export function unknownFeeder({ shard }: Feeder): HoldfastError {
  return new HoldfastError('INDEX_UNAVAILABLE', `The index does not know this feeder of shard ${shard} any more.`);
}
