export { canonicalJson, fingerprintOf } from './fingerprint';
export { toMermaid } from './mermaid';
export * from './named';
export {
  type AttributePlan,
  type ChannelPlan,
  type Durability,
  defaultConfig,
  defaultMethod,
  defaultRetry,
  type FlowConfig,
  type FlowPlan,
  type IndexKind,
  type LockMode,
  type LockPlan,
  type MethodName,
  type MethodPlan,
  type RetryPolicy,
  type RpcPlan,
  type StepOverrides,
  type StepPlan,
  timeoutStep,
} from './plan';
