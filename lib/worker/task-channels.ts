import type { ChannelAccess } from '../authoring';
import type { CompiledFlow } from '../compiler';
import { type Address, addressOf, type Payload, type PendingMessages, type Task } from '../core';
import type { Class } from '../ports';
import { decode, encode } from '../values';
import { type CallScope, notTaken, refuseReadOnly } from './call-scope';

/** What a call sees of the Channels, and what it publishes. */
export class TaskChannels implements ChannelAccess {
  private readonly staged: [Address, Payload][] = [];

  constructor(
    private readonly scope: CallScope,
    private readonly flow: CompiledFlow,
    private readonly channels: readonly PendingMessages[],
    private readonly consumed: Task['received'] = [],
  ) {}

  publish(type: Class, key: string | undefined, value: unknown): void {
    const address = this.address(type, key);
    refuseReadOnly(this.scope, type.name);
    this.staged.push([address, encode(value, `message for ${type.name}`)]);
  }

  received(type: Class, key: string | undefined): unknown[] {
    const address = this.address(type, key);
    return this.consumed.flatMap(([from, values]) => (from === address ? values.map(decode) : []));
  }

  size(type: Class, key: string | undefined): number {
    const address = this.address(type, key);
    return (this.unread(address)?.size ?? 0) + this.stagedOn(address).length;
  }

  pending(type: Class, key: string | undefined): unknown[] {
    const address = this.address(type, key);
    const unread = this.unread(address);
    const first = unread?.first ?? [];
    // Staged messages come behind all unread ones, so they are seen only where none is left out.
    const staged = first.length === (unread?.size ?? 0) ? this.stagedOn(address) : [];
    return [...first, ...staged].map(decode);
  }

  publishes(): readonly (readonly [Address, Payload])[] {
    return this.staged;
  }

  private unread(address: Address) {
    return this.channels.find((pending) => pending.address === address);
  }

  private stagedOn(address: Address): Payload[] {
    return this.staged.flatMap(([to, value]) => (to === address ? [value] : []));
  }

  private address(type: Class, key: string | undefined): Address {
    const binding = this.flow.channelOf(type);
    if (binding && this.scope.channels.includes(binding.name)) return addressOf(binding.name, key);
    throw notTaken(this.scope, type);
  }
}
