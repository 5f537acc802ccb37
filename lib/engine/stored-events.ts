import type { Event } from '../core';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord } from '../values';

/** The stored events of a run from a number on, oldest first, with their numbers, which go on over a chain. */
export async function* storedEvents(
  store: ShardStore,
  runId: string,
  from: number,
): AsyncGenerator<readonly [number: number, event: Event]> {
  for await (const [key, bytes] of store.scan(keys.historyOf(runId))) {
    const first = Number(key.slice(key.lastIndexOf('/') + 1));
    const chunk = decodeRecord(bytes) as Event[];
    for (let i = Math.max(0, from - first); i < chunk.length; i++) yield [first + i, chunk[i]!];
  }
}
