import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import { Cell } from './cell';

/** How many cells one eviction looks at, beside some for each that came in: a turn must not be slow where many have to stay. */
const looksPerEviction = 64;

/** The flowIds in an owner's memory: bound by what is active, not by what is open. */
export class Cells {
  private readonly cells = new Map<string, Cell>();
  private readonly loading = new Map<string, Promise<void>>();
  /** Since the last eviction. */
  private arrived = 0;
  /** Goes round all cells, over evictions. */
  private hand = this.cells.entries();

  constructor(
    private readonly store: ShardStore,
    private readonly keepIdle: number,
    /** Called for each flowId whose records cannot be read (P10). */
    private readonly onUnreadable: (flowId: string, error: unknown) => void,
  ) {}

  /** The cell if it is in memory; it counts as used. */
  get(flowId: string): Cell | undefined {
    const cell = this.cells.get(flowId);
    if (cell) cell.used = true;
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
    for (const flowId of new Set(flowIds)) if (!this.get(flowId)) loads.push(this.loadOne(flowId));
    if (loads.length > 0) await Promise.all(loads);
  }

  /**
   * Drops cells that are idle and were not used lately, down to the number to keep. Only to be called where nobody goes on
   * with cells that were loaded: they could be among them.
   */
  evict(mayGo: (cell: Cell) => boolean): void {
    let looks = looksPerEviction + 3 * this.arrived;
    this.arrived = 0;
    while (this.cells.size > this.keepIdle && looks-- > 0) {
      const next = this.hand.next();
      if (next.done) {
        this.hand = this.cells.entries();
        continue;
      }
      const [flowId, cell] = next.value;
      // One that was used since the hand came by last has a second chance.
      if (cell.used) cell.used = false;
      else if (mayGo(cell)) this.cells.delete(flowId);
    }
  }

  private loadOne(flowId: string): Promise<void> {
    let load = this.loading.get(flowId);
    if (!load) {
      load = Cell.load(this.store, flowId)
        .then(
          (cell) => {
            this.arrived++;
            this.cells.set(flowId, cell);
          },
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
