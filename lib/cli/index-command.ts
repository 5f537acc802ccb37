import { parseArgs } from 'node:util';
import { openClient } from '../cluster';
import { Holdfast } from '../embedded';
import type { IndexState } from '../engine';

export const indexUsage = `holdfast index <state | rebuild> --redis <url> [--namespace <name>] [--shards <n>]
holdfast index <state | rebuild> --store <url> --index <url>

Shows how far the index is behind what is saved, or writes it anew from the stores; searches and Flows go on meanwhile. With
--redis it asks the engines that run, which have the index. With --store, for one process that is stopped, it opens the store
itself. Ends with 1 when the index takes nothing.`;

/** The `index` commands. Gives what the process ends with. */
export async function runIndexCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...{ redis: { type: 'string' }, namespace: { type: 'string' }, shards: { type: 'string' } },
      ...{ store: { type: 'string' }, index: { type: 'string' } },
    } as const,
  });
  const [what, ...more] = positionals;
  const { redis, namespace, shards, store, index } = values;
  const isRemote = redis !== undefined && store === undefined;
  const isLocal = store !== undefined && index !== undefined && redis === undefined;
  if ((what !== 'state' && what !== 'rebuild') || more.length > 0 || !(isRemote || isLocal)) {
    console.error(indexUsage);
    return 2;
  }
  const states = isRemote
    ? await remotely(what, { redis, ...(namespace && { namespace }), ...(shards && { shards: Number(shards) }) })
    : await locally(what, store!, index!);
  for (const state of states) console.log(lineOf(state));
  return states.every(({ failing }) => failing === null) ? 0 : 1;
}

type What = 'state' | 'rebuild';

async function remotely(what: What, options: { redis: string; namespace?: string; shards?: number }) {
  const opened = await openClient({ ...options, flows: [] });
  try {
    return await (what === 'rebuild' ? opened.client.rebuildIndex() : opened.client.indexState());
  } finally {
    opened.close();
  }
}

/** Without Flows: Steps that are due wait for the process that has them. */
async function locally(what: What, store: string, index: string) {
  const holdfast = await Holdfast.open({ store, index, flows: [] });
  try {
    return await (what === 'rebuild' ? holdfast.client.rebuildIndex() : holdfast.client.indexState());
  } finally {
    await holdfast.close();
  }
}

function lineOf({ shard, index, pending, lagMs, rebuilding, failing }: IndexState): string {
  const doing = failing ?? (rebuilding ? 'is being written anew' : 'takes what comes');
  return `shard ${shard}  ${pending} pending, ${lagMs} ms behind  ${index} ${doing}`;
}
