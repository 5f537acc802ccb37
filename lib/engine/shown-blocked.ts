import type { RunState } from '../core';
import type { Blocked } from './blocked';
import type { Cells } from './cells';

type Reasons = readonly string[];

/** What the index shows as blocked, and what it should show (V3). */
export class ShownBlocked {
  private shown = new Map<string, Reasons>();
  private actual: ReadonlyMap<string, Reasons> = new Map();

  look(actual: ReadonlyMap<string, Reasons>): void {
    this.actual = actual;
  }

  /** The index was taken over and shows nothing as blocked. */
  clear(): void {
    this.shown = new Map();
  }

  of(flowId: string): Reasons {
    return this.shown.get(flowId) ?? [];
  }

  /** What has to be written; no reasons: it is blocked no longer. */
  get changed(): (readonly [flowId: string, blocked: Reasons])[] {
    const changed = [...this.actual].filter(([flowId, reasons]) => this.of(flowId).join('\n') !== reasons.join('\n'));
    const over = [...this.shown.keys()].filter((flowId) => !this.actual.has(flowId));
    return [...changed, ...over.map((flowId) => [flowId, []] as const)];
  }

  written(changed: ShownBlocked['changed']): void {
    for (const [flowId, reasons] of changed) {
      if (reasons.length > 0) this.shown.set(flowId, reasons);
      else this.shown.delete(flowId);
    }
  }
}

/** What does not go on in a shard: flows that are parked, and those with Steps that no worker has. */
export function blockedFlows(
  cells: Cells,
  parked: Pick<Blocked, 'flowIds' | 'get'>,
  lackingOf: (run: RunState) => Reasons,
): Map<string, Reasons> {
  const blocked = new Map<string, Reasons>();
  for (const { flow } of cells.all()) {
    const lacking = flow.run && flow.run.ready.size > 0 ? lackingOf(flow.run) : [];
    if (lacking.length > 0) blocked.set(flow.head.flowId, lacking);
  }
  for (const flowId of parked.flowIds) blocked.set(flowId, [parked.get(flowId)!.message]);
  return blocked;
}
