import type { Row, Table } from '../core';
import { HoldfastError } from '../errors';
import type { KeyRange, ShardStore } from '../ports';
import { decodeRecord, encodeRecord } from '../values';

/**
 * What may stand in the head record, which is written at each change: small rows, and of each table so many that rows which
 * nothing touches, such as unread messages, neither make the head large nor leave no room for those that change.
 */
const inlineRowBytes = 1024;
const inlineRowsPerTable = 64;
const inlineTableBytes = 2 * 1024;

type Tables = Readonly<Record<string, Table<Row>>>;

interface HeadRecord<H> {
  readonly head: H;
  /** Rows that stand in the head: `[key, encoded row]` per table. */
  readonly rows: Readonly<Record<string, readonly (readonly [string, Uint8Array])[]>>;
  /** How many rows of each table are records of their own; absent for none. */
  readonly apart: Readonly<Record<string, number>>;
}

/** Where a document's records stand. */
export interface DocumentKeys {
  readonly head: string;
  row(table: string, key: string): string;
  readonly rows: KeyRange;
}

/**
 * A head with its tables as records: small rows stand in the head record, which is written at each change and stays small;
 * rows that are large or too many are records of their own. So a change writes what it touched and not more.
 */
export class Document<H> {
  private readonly inline = new Map<string, Map<string, Uint8Array>>();
  /** Keys of rows that are records of their own, with their bytes. */
  private readonly apart = new Map<string, Map<string, number>>();
  private readonly bytes = new Map<string, number>();
  private apartBytes = 0;

  constructor(
    private readonly keys: DocumentKeys,
    private readonly tables: Tables,
  ) {
    for (const table of Object.keys(tables)) {
      this.inline.set(table, new Map());
      this.apart.set(table, new Map());
    }
  }

  /** Puts what was touched since the last save, and the head, into a batch. */
  save(head: H, batch: Map<string, Uint8Array | undefined>): void {
    this.saveRows(batch);
    this.saveHead(head, batch);
  }

  /** Puts the rows that were touched into a batch; the head must follow in the same. */
  saveRows(batch: Map<string, Uint8Array | undefined>): void {
    for (const [name, table] of Object.entries(this.tables)) {
      for (const key of table.takeDirty()) this.saveRow(name, key, table.get(key), batch);
    }
  }

  saveHead(head: H, batch: Map<string, Uint8Array | undefined>): void {
    batch.set(this.keys.head, encodeRecord(this.headRecord(head)));
  }

  /** Removes everything there is of the document. */
  remove(batch: Map<string, Uint8Array | undefined>): void {
    for (const [table, keys] of this.apart)
      for (const key of keys.keys()) batch.set(this.keys.row(table, key), undefined);
    batch.set(this.keys.head, undefined);
  }

  /** The head alone; undefined where there is no such document. */
  async loadHead(store: ShardStore): Promise<H | undefined> {
    const bytes = await store.get(this.keys.head);
    return bytes && (decodeRecord(bytes) as HeadRecord<H>).head;
  }

  /** Fills the tables from the store; undefined where there is no such document. */
  async load(store: ShardStore): Promise<H | undefined> {
    const bytes = await store.get(this.keys.head);
    if (!bytes) return undefined;
    const record = decodeRecord(bytes) as HeadRecord<H>;
    const loaded = new Map<string, [string, Row][]>();
    for (const name of Object.keys(this.tables)) loaded.set(name, []);
    for (const [name, rows] of Object.entries(record.rows)) {
      const inline = this.inline.get(name);
      if (!inline) throw unknownTable(name, this.keys.head);
      for (const [key, row] of rows) {
        inline.set(key, row);
        this.addBytes(name, row.length);
        loaded.get(name)!.push([key, decodeRecord(row) as Row]);
      }
    }
    if (Object.keys(record.apart).length > 0) {
      await this.loadApart(store, loaded);
      await this.checkUnchanged(store, bytes);
    }
    for (const [name, rows] of loaded) this.tables[name]!.load(rows);
    return record.head;
  }

  /** Every change rewrites the head: one that was rewritten while the rows were read does not belong to them. */
  private async checkUnchanged(store: ShardStore, before: Uint8Array): Promise<void> {
    const after = await store.get(this.keys.head);
    if (after && Buffer.compare(before, after) === 0) return;
    throw new HoldfastError('STORE_UNAVAILABLE', `${this.keys.head} was changed by another owner while it was read.`);
  }

  private async loadApart(store: ShardStore, loaded: Map<string, [string, Row][]>): Promise<void> {
    for await (const [recordKey, bytes] of store.scan(this.keys.rows)) {
      const { table, key, row } = decodeRecord(bytes) as { table: string; key: string; row: Row };
      const apart = this.apart.get(table);
      if (!apart) throw unknownTable(table, recordKey);
      this.noteApart(apart, key, bytes.length);
      loaded.get(table)!.push([key, row]);
    }
  }

  private saveRow(table: string, key: string, row: Row | undefined, batch: Map<string, Uint8Array | undefined>): void {
    const inline = this.inline.get(table)!;
    const apart = this.apart.get(table)!;
    const before = inline.get(key);
    if (before) {
      this.addBytes(table, -before.length);
      inline.delete(key);
    }
    if (row) {
      const bytes = encodeRecord(row);
      if (
        bytes.length <= inlineRowBytes &&
        inline.size < inlineRowsPerTable &&
        (this.bytes.get(table) ?? 0) + bytes.length <= inlineTableBytes
      ) {
        inline.set(key, bytes);
        this.addBytes(table, bytes.length);
        if (this.noteApart(apart, key)) batch.set(this.keys.row(table, key), undefined);
        return;
      }
      const record = encodeRecord({ table, key, row });
      this.noteApart(apart, key, record.length);
      batch.set(this.keys.row(table, key), record);
    } else if (this.noteApart(apart, key)) batch.set(this.keys.row(table, key), undefined);
  }

  /** About how many bytes all rows have. */
  get rowBytes(): number {
    let bytes = this.apartBytes;
    for (const inline of this.bytes.values()) bytes += inline;
    return bytes;
  }

  /** Notes that a row is a record of so many bytes, or, without, none any more. True if it was one. */
  private noteApart(apart: Map<string, number>, key: string, bytes?: number): boolean {
    const before = apart.get(key);
    this.apartBytes += (bytes ?? 0) - (before ?? 0);
    if (bytes === undefined) apart.delete(key);
    else apart.set(key, bytes);
    return before !== undefined;
  }

  private addBytes(table: string, bytes: number): void {
    this.bytes.set(table, (this.bytes.get(table) ?? 0) + bytes);
  }

  private headRecord(head: H): HeadRecord<H> {
    const rows: Record<string, (readonly [string, Uint8Array])[]> = {};
    const apart: Record<string, number> = {};
    for (const [table, inline] of this.inline) if (inline.size > 0) rows[table] = [...inline];
    for (const [table, keys] of this.apart) if (keys.size > 0) apart[table] = keys.size;
    return { head, rows, apart };
  }
}

/** The head alone of a stored document. */
export function headOf<H>(bytes: Uint8Array): H {
  return (decodeRecord(bytes) as HeadRecord<H>).head;
}

function unknownTable(table: string, where: string): HoldfastError {
  return new HoldfastError('CORRUPT_RECORD', `The record ${where} has rows of an unknown table ${table}.`, { where });
}
