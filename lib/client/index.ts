export { AttributeValues, type InitialAttribute, initially } from './attribute-values';
export { Client } from './client';
export { FlowFailedError, type FlowOutputEntry, type FlowResult } from './flow-outcome';
export type { HistoryEvent } from './history-event';
export type { ClientParts, OutgoingMessage, RunOptions } from './requests';
export type { CallOptions, RequestOptions } from './settings';
export type { StartArguments, StartOptions } from './start-options';
export type { AttributeCondition } from './waits';
