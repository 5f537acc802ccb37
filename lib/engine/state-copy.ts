import { emptyTables, type Row, type RunHead, RunState, type RunTables, type Table } from '../core';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import { decodeRecord, encodeRecord } from '../values';

/** Parts of a copy hold about this much, or one row. */
const partBytes = 1024 * 1024;

interface Part {
  /** In the first part. */
  readonly head?: RunHead;
  /** When it was. */
  readonly at: number;
  readonly rows: readonly (readonly [table: string, key: string, row: Uint8Array])[];
}

/** A run's state of this moment, as records; `at` is the time of its last event. */
export function copyOfState({ head, tables }: RunState, at: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let rows: [string, string, Uint8Array][] = [];
  let bytes = 0;
  const end = () => {
    parts.push(encodeRecord({ ...(parts.length === 0 && { head }), at, rows } satisfies Part));
    rows = [];
    bytes = 0;
  };
  for (const [name, table] of Object.entries(tables) as [string, Table<Row>][]) {
    for (const [key, row] of table.entries()) {
      const encoded = encodeRecord(row);
      if (rows.length > 0 && bytes + encoded.length > partBytes) end();
      rows.push([name, key, encoded]);
      bytes += encoded.length;
    }
  }
  end();
  return parts;
}

/** The copy of a run's state after an event; undefined where it was removed. */
export async function readCopy(
  store: ShardStore,
  runId: string,
  event: number,
): Promise<{ readonly run: RunState; readonly at: number } | undefined> {
  const tables = emptyTables();
  let head: RunHead | undefined;
  let at = 0;
  const rows = new Map<string, [string, Row][]>();
  for await (const [, bytes] of store.scan(keys.copyOf(runId, event))) {
    const part = decodeRecord(bytes) as Part;
    head ??= part.head;
    at = part.at;
    for (const [name, key, row] of part.rows) {
      const list = rows.get(name) ?? [];
      list.push([key, decodeRecord(row) as Row]);
      rows.set(name, list);
    }
  }
  if (!head) return undefined;
  for (const [name, list] of rows) (tables[name as keyof RunTables] as Table<Row>).load(list);
  return { run: new RunState(head, tables), at };
}
