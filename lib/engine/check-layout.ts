import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord, encodeRecord } from '../values';
import type { ShardOwnerParts } from './shard-owner';
import type { WritePipeline } from './write-pipeline';

/** Notes the format and number of shards in a new store. Throws `STORE_LAYOUT` for one that was made with others. */
export async function checkLayout(store: ShardStore, pipeline: WritePipeline, parts: ShardOwnerParts): Promise<void> {
  const { shards } = parts.settings;
  const stored = await store.get(keys.layout);
  if (!stored) return pipeline.put(keys.layout, encodeRecord({ format: 1, shards }));
  const layout = decodeRecord(stored) as { format: number; shards: number };
  if (layout.format === 1 && layout.shards === shards) return;
  throw new HoldfastError(
    'STORE_LAYOUT',
    `${parts.store.location} has format ${layout.format} and ${layout.shards} shards; this engine works with format 1 and ${shards}.`,
  );
}
