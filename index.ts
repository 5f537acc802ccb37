import 'reflect-metadata';

export { Attribute, Channel, Flow, Lock, OnTimeout, Query, Rpc, Step, Validate } from './decorators';
export {
  type AttributeOptions,
  allOf,
  anyCombinationOf,
  anyOf,
  type ChannelOptions,
  type Codec,
  completeIfEmpty,
  continueAsNew,
  type Decision,
  DurableAttribute,
  DurableAttributeMap,
  DurableChannel,
  DurableChannelMap,
  deadEnd,
  type FlowClass,
  type FlowInput,
  type FlowOptions,
  type FlowOutput,
  forceComplete,
  forceFail,
  goTo,
  goToMany,
  gracefulComplete,
  type MovementOptions,
  type Recovery,
  type RetryOptions,
  RpcContext,
  RpcRejected,
  retryAfter,
  type ScheduledBy,
  type StepContext,
  type StepOptions,
  type SubFlowOptions,
  type SubFlowOutcome,
  startSubFlow,
  subFlow,
  Timer,
  to,
  until,
  type Wait,
} from './lib/authoring';
export {
  AttributeValues,
  type CallOptions,
  Client,
  FlowFailedError,
  type FlowOutputEntry,
  type FlowResult,
  type HistoryEvent,
  initially,
  type OutgoingMessage,
  type RequestOptions,
  type RunOptions,
  type StartOptions,
} from './lib/client';
export { CompileError, check, compile, type Finding, formatFindings } from './lib/compiler';
export { Holdfast, type HoldfastOptions } from './lib/embedded';
export type {
  ChildDescription,
  ConditionDescription,
  FailureDescription,
  LockDescription,
  RunCounts,
  RunDescription,
  StepDescription,
  TimerDescription,
} from './lib/engine';
export { catalogue, type ErrorCode, type ErrorKind, HoldfastError } from './lib/errors';
export type { Clock, HandlerResolver, Logger, StateStore } from './lib/ports';
export type { Failure } from './lib/values';
