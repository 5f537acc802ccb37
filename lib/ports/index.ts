export type { Cancel, Clock } from './clock';
export type {
  AnyHint,
  Dispatch,
  HintReader,
  Inbox,
  Mailbox,
  Offers,
  Origin,
  Subscription,
} from './dispatch';
export type {
  Feeder,
  FlowIndex,
  IndexChanges,
  IndexedAttribute,
  IndexedRun,
  IndexFilter,
  IndexOrder,
  IndexQuery,
  IndexRange,
  TermTest,
} from './flow-index';
export type { Class, HandlerResolver, Resolved } from './handler-resolver';
export type { Ids } from './ids';
export type { Lease, LeasePart, Leases, LeasesView } from './lease';
export type { Logger } from './logger';
export type { QueuePolicies, QueuePolicy } from './queue-policy';
export type { SlotKey, Slots } from './slots';
export {
  type Entry,
  type KeyRange,
  prefixRange,
  type ShardStore,
  type StateStore,
  type StoreStats,
  type WriteBatch,
} from './state-store';
export type { Counter, Labels, Telemetry, Timing } from './telemetry';
