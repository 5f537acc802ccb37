import type { ChannelOptions, DurableChannel, DurableChannelMap, MustStore } from '../lib/authoring';
import { recordChannel } from '../lib/metadata';

/**
 * Marks a class that extends `DurableChannel` or `DurableChannelMap` (C1). Does not compile when the message cannot be
 * stored.
 */
export function Channel(options: ChannelOptions = {}) {
  return <T>(
    target: (abstract new (...deps: any[]) => DurableChannel<T> | DurableChannelMap<T>) & MustStore<T, 'message'>,
  ): void => recordChannel(target, options);
}
