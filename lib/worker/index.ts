export { decodeAttribute, encodeAttribute } from './attribute-value';
export { Worker, type WorkerParts, type WorkerSettings } from './worker';
