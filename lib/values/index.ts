export { decode, decodeRecord, encode, encodeRecord } from './codec';
export { digest } from './digest';
export { type Failure, fromFailure, isA, toFailure } from './failure';
export { checkId, MAX_ID_BYTES } from './ids';
export { expectedBy, type IndexTerms, indexTerms, wordsOf } from './index-terms';
export { PAYLOAD_LIMIT_BYTES } from './limits';
export { shardOf } from './shard';
export { MAX_DEPTH } from './storable';
export { checkTrace } from './trace';
