import type { ChannelClass, ChannelMessage, ChannelOptions, MustStore } from '../lib/authoring';
import { recordChannel } from '../lib/metadata';

/**
 * Marks a class that extends `DurableChannel` or `DurableChannelMap` (C1). Does not compile when the message cannot be
 * stored.
 */
export function Channel(options: ChannelOptions = {}) {
  return <C extends ChannelClass>(target: C & MustStore<ChannelMessage<C>, 'message'>): void =>
    recordChannel(target, options);
}
