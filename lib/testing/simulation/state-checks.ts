import type { RunHead, RunState } from '../../core';
import { RunRecord } from '../../engine/run-record';
import type { EngineRole } from './cast';
import type { Disk } from './disk';
import { viewOf } from './engine-view';
import { brokenInvariant } from './invariants';
import type { Durable } from './model/durable';
import type { RunModel } from './model/run-model';
import { difference, fold } from './same-run';

/** Every so often what is stored is decoded and compared with what its owner has. */
const compareEvery = 16;

/** Looks into engines and store, and compares what it finds with what must hold. */
export class StateChecks {
  private readonly lookedAt = new WeakMap<RunState, RunHead>();
  /** Read by an owner that was replaced meanwhile: perhaps halves of what its successor wrote. */
  private readonly torn = new WeakSet<RunState>();
  private changes = 0;
  compared = 0;

  constructor(
    private readonly disk: Disk,
    private readonly durable: Durable,
    private readonly violated: (rule: string, what: string) => void,
  ) {}

  /** Judges every run that has changed in an engine's memory. Gives those to compare with the store. */
  lookInto({ engine, process }: EngineRole): { runId: string; run: RunState }[] {
    const toCompare: { runId: string; run: RunState }[] = [];
    for (const view of viewOf(engine)) {
      const isOwner = this.disk.shard(view.shard).epoch === view.epoch;
      // An owner that was replaced while it read may have seen halves of what its successor wrote.
      for (const [flowId, error] of isOwner ? view.blocked : []) {
        this.violated('P10', `${flowId} is blocked in ${process.name}: ${error.message} ${error.cause}`);
      }
      for (const { flowId, run, isSaved } of view.runs) {
        const before = this.lookedAt.get(run);
        if (before === undefined && !isOwner) this.torn.add(run);
        if (before === run.head || this.torn.has(run)) continue;
        this.lookedAt.set(run, run.head);
        this.changes++;
        const broken = brokenInvariant(run, view.now) ?? withdrawn(before, run.head);
        if (broken) this.violated('invariant', `${flowId} in ${process.name}: ${broken}`);
        if (isSaved && isOwner && this.changes % compareEvery === 0) toCompare.push({ runId: run.head.runId, run });
      }
    }
    return toCompare;
  }

  /** What is in the store decodes to what its owner has. */
  async compare(shard: number, runId: string, run: RunState): Promise<void> {
    this.compared++;
    const stored = await RunRecord.load(this.disk.view(shard), runId);
    const wrong = stored ? difference(run, stored.run) : 'it has no record';
    if (wrong) this.violated('P6', `${run.head.flowId}: memory and store differ in ${wrong}`);
  }

  /** The histories of a chain give the states that are stored of its runs (N1: which are never made from them). */
  async compareHistory(shard: number, first: RunModel): Promise<(readonly [RunModel, RunState])[]> {
    const runs: RunModel[] = [];
    for (let run: RunModel | undefined = first; run; run = run.next) runs.push(run);
    const folded = fold(runs.map(({ runId }) => this.durable.histories.get(runId)!));
    const found: (readonly [RunModel, RunState])[] = [];
    for (const [i, run] of runs.entries()) {
      if (run.isRemoved) continue;
      const stored = await RunRecord.load(this.disk.view(shard), run.runId);
      const wrong = stored ? difference(folded[i]!, stored.run) : 'it has no record';
      if (wrong) this.violated('fold', `${run.program.flowId}: ${wrong}`);
      if (stored) found.push([run, stored.run]);
    }
    return found;
  }
}

function withdrawn(before: RunHead | undefined, after: RunHead): string | undefined {
  if (!before) return undefined;
  if (before.completing && !after.completing) return 'a completion that was asked for is withdrawn';
  if (before.status !== 'running' && after.status !== before.status) return `closed as ${before.status}, and again`;
  return after.events < before.events ? 'the history has become shorter' : undefined;
}
