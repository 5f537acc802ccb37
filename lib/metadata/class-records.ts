import type { AttributeOptions, ChannelOptions, FlowOptions, StepOptions } from '../authoring';
import type { Class } from '../ports';
import { ownMetadata } from './own-metadata';

/** The constructor's parameters as the build tool wrote them down, before `inject` took their place. */
interface Injected {
  readonly designTypes: readonly unknown[] | undefined;
}

export interface StepRecord extends Injected {
  readonly options: StepOptions;
}

export interface FlowRecord extends Injected {
  readonly options: FlowOptions;
}

export interface AttributeRecord {
  /** As given, also from untyped code: the compiler checks it. */
  readonly lock: unknown;
  readonly options: AttributeOptions;
}

export interface ChannelRecord {
  readonly options: ChannelOptions;
}

const steps = ownMetadata<StepRecord>('step');
const flows = ownMetadata<FlowRecord>('flow');
const attributes = ownMetadata<AttributeRecord>('attribute');
const channels = ownMetadata<ChannelRecord>('channel');

const designTypesKey = 'design:paramtypes';

// null comes from untyped code; anything else that is no object is kept as it is and reported by the compiler.

export function recordStep(type: Class, options: StepOptions | null): void {
  steps.write(type, { options: options ?? {}, designTypes: injecting(type, options?.inject) });
}

export function recordFlow(type: Class, options: FlowOptions | null): void {
  flows.write(type, { options: options ?? {}, designTypes: injecting(type, options?.inject) });
}

export function recordAttribute(type: Class, lock: unknown, options: AttributeOptions | null): void {
  attributes.write(type, { lock, options: options ?? {} });
}

export function recordChannel(type: Class, options: ChannelOptions | null): void {
  channels.write(type, { options: options ?? {} });
}

export const readStep = steps.read;
export const readFlow = flows.read;
export const readAttribute = attributes.read;
export const readChannel = channels.read;

/** What a class is marked as, for messages. */
export function markOf(type: unknown): '@Flow' | '@Step' | '@Attribute' | '@Channel' | undefined {
  if (typeof type !== 'function') return undefined;
  const marked = type as unknown as Class;
  if (readFlow(marked)) return '@Flow';
  if (readStep(marked)) return '@Step';
  if (readAttribute(marked)) return '@Attribute';
  return readChannel(marked) ? '@Channel' : undefined;
}

/** Where `inject` is given it becomes the design types: containers read those, and so need no support of their own. */
function injecting(type: Class, inject: readonly unknown[] | undefined): readonly unknown[] | undefined {
  const emitted: readonly unknown[] | undefined = Reflect.getMetadata(designTypesKey, type);
  if (inject) Reflect.defineMetadata(designTypesKey, inject, type);
  return emitted;
}
