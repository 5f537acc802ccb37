import type { ChildRow } from './child';
import type { Table } from './table';

/** The SubFlows of a run, as long as something is still to be done for them or their outcome can be read. */
export class Children {
  /** Keys of those that have to be told something. */
  readonly owing = new Set<string>();
  /** Keys of those that are to start when fewer are open, first asked first. */
  readonly held = new Set<string>();
  /** How many are starting or open. */
  running = 0;
  /** How many of the SubFlows of a wait have not closed. */
  private readonly openPerWait = new Map<string, number>();

  constructor(
    private readonly rows: Table<ChildRow>,
    private readonly isOpen: (execution: string) => boolean,
  ) {
    for (const child of rows.values()) {
      this.count(child, 1);
      if (owes(child)) this.owing.add(child.key);
    }
  }

  get(key: string): ChildRow | undefined {
    return this.rows.get(key);
  }

  values(): IterableIterator<ChildRow> {
    return this.rows.values();
  }

  /** How many of the SubFlows that an execution waits for have not closed. */
  openOf(execution: string): number {
    return this.openPerWait.get(execution) ?? 0;
  }

  set(child: ChildRow): void {
    const before = this.rows.get(child.key);
    if (before) this.count(before, -1);
    this.count(child, 1);
    this.rows.set(child.key, child);
    if (owes(child)) this.owing.add(child.key);
    else this.owing.delete(child.key);
    this.dropIfDone(child.key);
  }

  /** Lets go of one that has closed and whose outcome nobody can read any more. */
  dropIfDone(key: string): void {
    const child = this.rows.get(key);
    if (child?.state !== 'closed') return;
    if (child.execution === null || !this.isOpen(child.execution)) this.rows.delete(key);
  }

  private count({ key, execution, state }: ChildRow, by: 1 | -1): void {
    if (state === 'held' && by === 1) this.held.add(key);
    else if (state === 'held') this.held.delete(key);
    else if (state !== 'closed') this.running += by;
    if (execution === null || state === 'closed') return;
    const open = this.openOf(execution) + by;
    if (open === 0) this.openPerWait.delete(execution);
    else this.openPerWait.set(execution, open);
  }
}

function owes({ state, stop }: ChildRow): boolean {
  return state === 'starting' || (state === 'started' && stop !== null);
}
