const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** The shard of a flowId: FNV-1a (32 bits) of its UTF-8, modulo `shards`. Stored data depends on it: it never changes. */
export function shardOf(flowId: string, shards: number): number {
  if (shards === 1) return 0;
  let hash = OFFSET_BASIS;
  for (const byte of Buffer.from(flowId)) hash = Math.imul(hash ^ byte, PRIME);
  return (hash >>> 0) % shards;
}
