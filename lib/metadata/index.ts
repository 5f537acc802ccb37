export {
  type AttributeRecord,
  type ChannelRecord,
  type FlowRecord,
  markOf,
  readAttribute,
  readChannel,
  readFlow,
  readStep,
  recordAttribute,
  recordChannel,
  recordFlow,
  recordStep,
  type StepRecord,
} from './class-records';
export { type LockMark, readLocks, recordLock } from './constructor-locks';
export {
  type ConstructorRecord,
  losesInheritedParameters,
  type ParameterRecord,
  type ParameterSource,
  readConstructor,
} from './constructor-record';
export { type CallMark, isCall, type MemberMark, readMembers, recordMember } from './members';
export { lineage } from './own-metadata';
