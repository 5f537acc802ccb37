import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import { Cell } from './cell';

/** The flowIds in an owner's memory: bound by what is active, not by what is open. */
export class Cells {
  private readonly cells = new Map<string, Cell>();
  private readonly loading = new Map<string, Promise<void>>();

  constructor(
    private readonly store: ShardStore,
    private readonly keepIdle: number,
    /** Called for each flowId whose records cannot be read (P10). */
    private readonly onUnreadable: (flowId: string, error: unknown) => void,
  ) {}

  /** The cell if it is in memory; it counts as used. */
  get(flowId: string): Cell | undefined {
    const cell = this.cells.get(flowId);
    if (cell) {
      this.cells.delete(flowId);
      this.cells.set(flowId, cell);
    }
    return cell;
  }

  /** All in memory; none of them counts as used. */
  all(): Iterable<Cell> {
    return this.cells.values();
  }

  /**
   * Brings all of them into memory; those whose records cannot be read are reported and stay out. Rejects where the store
   * gave nothing: that says nothing about a flow.
   */
  async load(flowIds: Iterable<string>): Promise<void> {
    const loads: Promise<void>[] = [];
    for (const flowId of new Set(flowIds)) if (!this.cells.has(flowId)) loads.push(this.loadOne(flowId));
    if (loads.length > 0) await Promise.all(loads);
  }

  /** Drops cells that are idle, the longest unused first, down to the number to keep. */
  evict(mayGo: (cell: Cell) => boolean): void {
    let excess = this.cells.size - this.keepIdle;
    if (excess <= 0) return;
    for (const [flowId, cell] of this.cells) {
      if (!mayGo(cell)) continue;
      this.cells.delete(flowId);
      if (--excess <= 0) return;
    }
  }

  private loadOne(flowId: string): Promise<void> {
    let load = this.loading.get(flowId);
    if (!load) {
      load = Cell.load(this.store, flowId)
        .then(
          (cell) => void this.cells.set(flowId, cell),
          (error) => {
            if (isOfStore(error)) throw error;
            this.onUnreadable(flowId, error);
          },
        )
        .finally(() => this.loading.delete(flowId));
      this.loading.set(flowId, load);
    }
    return load;
  }
}

/** The store failed, was closed, or was taken over. */
function isOfStore(error: unknown): boolean {
  return error instanceof HoldfastError && error.kind !== 'corrupt';
}
