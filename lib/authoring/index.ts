export {
  type AttributeClass,
  type AttributeValue,
  attributeKindOf,
  DurableAttribute,
  DurableAttributeMap,
} from './attribute';
export { type ChannelClass, type ChannelMessage, channelKindOf, DurableChannel, DurableChannelMap } from './channel';
export {
  type ChannelCondition,
  type Condition,
  Timer,
  type TimerAfter,
  type TimerAt,
  type TimerCondition,
} from './condition';
export type { Locals, Recovery, ScheduledBy, StepContext } from './context';
export {
  type Cancels,
  type Carry,
  CompleteIfEmpty,
  ContinueAsNew,
  completeIfEmpty,
  continueAsNew,
  DeadEnd,
  Decision,
  deadEnd,
  ForceComplete,
  ForceFail,
  forceComplete,
  forceFail,
  GoTo,
  GracefulComplete,
  goTo,
  goToMany,
  gracefulComplete,
  isDecision,
  Movement,
  type OutputOf,
  type TargetsOf,
  to,
} from './decision';
export { RetryAfter, RpcRejected, retryAfter } from './failures';
export {
  type AttributeAccess,
  type ChannelAccess,
  currentInvocation,
  type Invocation,
  outsideInvocation,
  runInvocation,
  transactionHere,
} from './invocation';
export type {
  AttributeOptions,
  ChannelOptions,
  Codec,
  FlowOptions,
  HistoryLimit,
  Injecting,
  LockRequest,
  MethodOptions,
  MovementOptions,
  Naming,
  QueryOptions,
  RetryOptions,
  RpcOptions,
  StandardSchema,
  StepOptions,
  Token,
} from './options';
export { RpcContext } from './rpc-context';
export type { MustStore, Problem, Unstorable } from './storable';
export {
  type SubFlowCondition,
  type SubFlowConditionOptions,
  type SubFlowOptions,
  type SubFlowOutcome,
  startSubFlow,
  subFlow,
} from './sub-flow';
export type {
  AnyStep,
  FlowClass,
  FlowInput,
  FlowOutput,
  InputArgs,
  InputOf,
  RpcArguments,
  RpcProxy,
  StepsOf,
  UnlistedSteps,
} from './types';
export { allOf, anyCombinationOf, anyOf, isWait, until, Wait } from './wait';
