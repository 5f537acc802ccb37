export { type ClientOptions, ClusterClient, openClient } from './cluster-client';
export { ClusterEngine, type EngineOptions, openEngine } from './cluster-engine';
export { ClusterWorker, openWorker, type WorkerOptions } from './cluster-worker';
export type { ClusterOptions, SearchOptions } from './connect';
