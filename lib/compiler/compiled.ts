import type { Codec, StandardSchema } from '../authoring';
import type { AttributePlan, ChannelPlan, FlowPlan, RpcPlan } from '../plan/plan';
import type { Class } from '../ports';

/** The annotated classes of a process, checked and turned into plans. Made by `compile`. */
export interface Compiled {
  /** By name. */
  readonly flows: ReadonlyMap<string, CompiledFlow>;
  /** Flow, Step, Attribute and Channel classes, each once: what a container has to know. */
  readonly classes: readonly Class[];
  flowOf(type: Class): CompiledFlow | undefined;
  /** By name or alias. */
  flowNamed(name: string): CompiledFlow | undefined;
}

/** A plan together with the classes it was made from. Look-ups by name know aliases too (V3). */
export interface CompiledFlow {
  readonly plan: FlowPlan;
  readonly type: Class;
  /** Method marked `@OnTimeout`. */
  readonly timeoutMethod: string | undefined;
  stepType(name: string): Class | undefined;
  stepName(type: Class): string | undefined;
  attributeOf(type: Class): AttributeBinding | undefined;
  attributeNamed(name: string): AttributeBinding | undefined;
  channelOf(type: Class): ChannelBinding | undefined;
  channelNamed(name: string): ChannelBinding | undefined;
  rpcNamed(name: string): RpcBinding | undefined;
  /** By the method's key in the class, which is what the client's proxy is called with. */
  rpcOf(method: string): RpcBinding | undefined;
}

export interface AttributeBinding {
  readonly name: string;
  readonly type: Class;
  readonly plan: AttributePlan;
  readonly codec?: Codec;
  readonly schema?: StandardSchema;
}

export interface ChannelBinding {
  readonly name: string;
  readonly type: Class;
  readonly plan: ChannelPlan;
}

export interface RpcBinding {
  readonly name: string;
  readonly method: string;
  /** Position of the `RpcContext` among the method's parameters; undefined where it takes none. */
  readonly contextAt: number | undefined;
  /** Method marked `@Validate`. */
  readonly validator: string | undefined;
  readonly plan: RpcPlan;
}
