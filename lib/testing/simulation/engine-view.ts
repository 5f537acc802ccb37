import type { RunState } from '../../core';

/** The parts of an engine that nobody but a simulation looks into. */
interface Insides {
  readonly owners: readonly {
    readonly parts: { readonly shard: number };
    readonly session?: {
      readonly ended: boolean;
      readonly cells: { readonly cells: ReadonlyMap<string, CellInsides> };
      readonly pipeline: { readonly durable: number };
      readonly store: { readonly epoch: number };
      readonly blocked: { readonly errors: ReadonlyMap<string, Error> };
      readonly watchers: { readonly reads: ReadonlyMap<string, { readonly size: number }> };
      readonly time: { readonly last: number };
    };
  }[];
}

interface CellInsides {
  readonly changedIn: number;
  readonly flow: { readonly run: RunState | undefined };
}

export interface ShardView {
  readonly shard: number;
  readonly epoch: number;
  /** The shard's clock when it was last looked at. */
  readonly now: number;
  readonly blocked: ReadonlyMap<string, Error>;
  /** Reads that wait for something to happen. */
  readonly watching: number;
  readonly runs: readonly { readonly flowId: string; readonly run: RunState; readonly isSaved: boolean }[];
}

/** What an engine has in memory, shard by shard. */
export function viewOf(engine: object): ShardView[] {
  return (engine as unknown as Insides).owners.flatMap(({ parts, session }) => {
    if (!session || session.ended) return [];
    const { cells, pipeline, store, blocked, watchers, time } = session;
    const runs = [...cells.cells].flatMap(([flowId, { flow, changedIn }]) =>
      flow.run ? [{ flowId, run: flow.run, isSaved: changedIn <= pipeline.durable }] : [],
    );
    const watching = [...watchers.reads.values()].reduce((sum, reads) => sum + reads.size, 0);
    return [{ shard: parts.shard, epoch: store.epoch, blocked: blocked.errors, watching, runs, now: time.last }];
  });
}
