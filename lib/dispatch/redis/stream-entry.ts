/** One entry of a stream, with its fields in order. */
export interface StreamEntry {
  readonly id: string;
  readonly values: readonly Buffer[];
}

/** Entries of what XREAD, XREADGROUP, XRANGE and XAUTOCLAIM answer; those that were deleted meanwhile are left out. */
export function entriesIn(raw: readonly (readonly [Buffer, readonly Buffer[] | null] | null)[]): StreamEntry[] {
  return raw.flatMap((entry) => {
    const [id, fields] = entry ?? [];
    if (!id || !fields) return [];
    return [{ id: id.toString(), values: fields.filter((_, i) => i % 2 === 1) }];
  });
}

export type RawStreams =
  | readonly (readonly [key: Buffer, entries: readonly (readonly [Buffer, readonly Buffer[] | null])[]])[]
  | null;

/** Orders ids of entries. */
export function compareIds(a: string, b: string): number {
  const [aMs, aSeq] = a.split('-').map(Number) as [number, number];
  const [bMs, bSeq] = b.split('-').map(Number) as [number, number];
  return aMs - bMs || aSeq - bSeq;
}
