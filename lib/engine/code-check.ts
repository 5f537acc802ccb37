import { type Lack, lacksOf, mayLack } from '../core';
import { isPlanOf } from '../plan';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import type { Plans } from './plans';
import { RunRecord } from './run-record';

/** Something that open runs of a shard have and the code asked about lacks. */
export interface FoundLack extends Lack {
  readonly flow: string;
  /** One of the runs. */
  readonly flowId: string;
  readonly runs: number;
}

/** One page of a look at all runs of a shard. */
export interface CodePage {
  readonly lacks: readonly FoundLack[];
  /** Open runs per Flow that the code does not have at all. */
  readonly foreign: Readonly<Record<string, number>>;
  /** For the next page; null: that was all. */
  readonly next: string | null;
}

/**
 * Compares open runs with the plans of a build, some runs at a time (V2). Without any stored plan that has more than the
 * build there is nothing to look for.
 */
export async function checkCode(
  store: ShardStore,
  plans: Plans,
  fingerprints: readonly string[],
  after: string,
  limit: number,
): Promise<CodePage> {
  const build = fingerprints.map((fingerprint) => plans.get(fingerprint));
  const stored = plans.all();
  const isForeign = (flow: string) => !build.some((plan) => isPlanOf(plan, flow));
  if (!build.some((plan) => mayLack(plan, stored)) && !stored.some(({ name }) => isForeign(name))) {
    return { lacks: [], foreign: {}, next: null };
  }
  const runIds: string[] = [];
  for await (const [key] of store.scan({ ...keys.runsAfter(after), limit })) runIds.push(keys.runIdOf(key));
  const lacks = new Map<string, FoundLack>();
  const foreign: Record<string, number> = {};
  for (const runId of runIds) {
    const head = await RunRecord.loadHead(store, runId);
    if (head?.status !== 'running') continue;
    if (isForeign(head.flow)) foreign[head.flow] = (foreign[head.flow] ?? 0) + 1;
    else if (!fingerprints.includes(head.plan)) await look(runId);
  }
  return { lacks: [...lacks.values()], foreign, next: runIds.length < limit ? null : runIds[limit - 1]! };

  async function look(runId: string): Promise<void> {
    const run = (await RunRecord.load(store, runId))?.run;
    if (!run?.isOpen) return;
    const { flow, flowId } = run.head;
    for (const lack of lacksOf(run, build.find((plan) => isPlanOf(plan, flow))!)) {
      const key = `${flow} ${lack.what} ${lack.name}`;
      const known = lacks.get(key);
      lacks.set(key, { ...lack, flow, flowId: known?.flowId ?? flowId, runs: (known?.runs ?? 0) + 1 });
    }
  }
}
