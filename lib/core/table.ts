/** An entry of a table; `seq` gives its place in order of insertion. */
export interface Row {
  readonly seq: number;
}

/**
 * One keyed collection of a run or flow. Rows are replaced, never changed in place; the keys touched since the last save are
 * remembered, so that a save writes only those.
 */
export class Table<R extends Row> {
  private readonly rows = new Map<string, R>();
  private readonly dirty = new Set<string>();

  get size(): number {
    return this.rows.size;
  }

  get(key: string): R | undefined {
    return this.rows.get(key);
  }

  has(key: string): boolean {
    return this.rows.has(key);
  }

  set(key: string, row: R): void {
    this.rows.set(key, row);
    this.dirty.add(key);
  }

  delete(key: string): void {
    if (this.rows.delete(key)) this.dirty.add(key);
  }

  keys(): IterableIterator<string> {
    return this.rows.keys();
  }

  values(): IterableIterator<R> {
    return this.rows.values();
  }

  entries(): IterableIterator<[string, R]> {
    return this.rows.entries();
  }

  /** Keys touched since the last call; a touched key without a row was deleted. */
  takeDirty(): string[] {
    const keys = [...this.dirty];
    this.dirty.clear();
    return keys;
  }

  get isDirty(): boolean {
    return this.dirty.size > 0;
  }

  /** Fills an empty table from storage, in order of `seq`, without marking anything. */
  load(entries: Iterable<readonly [string, R]>): void {
    for (const [key, row] of [...entries].sort((a, b) => a[1].seq - b[1].seq)) this.rows.set(key, row);
  }
}
