import type { ChannelAccess } from '../authoring';
import type { CompiledFlow } from '../compiler';
import { type Address, addressOf, type Payload, type Task } from '../core';
import { HoldfastError } from '../errors';
import type { Class } from '../ports';
import { decode, encode } from '../values';

/** What a call sees of the Channels, and what it publishes. */
export class TaskChannels implements ChannelAccess {
  private readonly staged: [Address, Payload][] = [];

  constructor(
    private readonly task: Task,
    private readonly flow: CompiledFlow,
  ) {}

  publish(type: Class, key: string | undefined, value: unknown): void {
    const address = this.address(type, key);
    this.staged.push([address, encode(value, `message for ${type.name}`)]);
  }

  received(type: Class, key: string | undefined): unknown[] {
    const address = this.address(type, key);
    return this.task.received.flatMap(([from, values]) => (from === address ? values.map(decode) : []));
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
    return this.task.channels.find((pending) => pending.address === address);
  }

  private stagedOn(address: Address): Payload[] {
    return this.staged.flatMap(([to, value]) => (to === address ? [value] : []));
  }

  private address(type: Class, key: string | undefined): Address {
    const binding = this.flow.channelOf(type);
    if (binding && this.flow.plan.steps[this.task.step]!.channels.includes(binding.name)) {
      return addressOf(binding.name, key);
    }
    throw new HoldfastError('DEFINITION', `${this.task.step} does not take ${type.name} in its constructor.`, {
      where: this.task.step,
      fix: `Take ${type.name} as a parameter of the constructor of ${this.task.step}.`,
    });
  }
}
