export type { Cancel, Clock } from './clock';
export type { Dispatch, Inbox, Mailbox } from './dispatch';
export type { Class, HandlerResolver, Resolved } from './handler-resolver';
export type { Ids } from './ids';
export {
  type Entry,
  type KeyRange,
  prefixRange,
  type ShardStore,
  type StateStore,
  type StoreStats,
  type WriteBatch,
} from './state-store';
export type { Logger } from './telemetry';
