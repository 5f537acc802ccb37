import { type Address, nameOf, type Payload } from './payload';
import type { Snapshots } from './snapshots';
import type { Row, Table } from './table';

export interface AttributeRow extends Row {
  /** Oldest first. A version is the number of the event that wrote it; null: deleted. Old ones stay while a call sees them. */
  readonly versions: readonly (readonly [version: number, value: Payload | null])[];
}

/** The Attributes of a run, in as many versions as calls still see. */
export class AttributeValues {
  /** Addresses of the values there are per Attribute name: one for a plain Attribute, one an entry for a map. */
  private readonly addresses = new Map<string, Set<Address>>();
  private readonly manyVersions = new Set<Address>();

  constructor(
    private readonly rows: Table<AttributeRow>,
    private readonly snapshots: Snapshots,
  ) {
    for (const [address, row] of rows.entries()) this.index(address, row.versions);
  }

  /** Writes the version of event `version`; `seq` is for a value that is new. */
  write(address: Address, value: Payload | null, version: number, seq: () => number): void {
    const row = this.rows.get(address);
    this.store(address, row?.seq ?? seq(), this.seen([...(row?.versions ?? []), [version, value]]));
  }

  /** The value at a snapshot, or the latest; undefined where there is none. */
  read(address: Address, snapshot = Number.POSITIVE_INFINITY): Payload | undefined {
    const versions = this.rows.get(address)?.versions ?? [];
    for (let i = versions.length - 1; i >= 0; i--) if (versions[i]![0] <= snapshot) return versions[i]![1] ?? undefined;
    return undefined;
  }

  /** Of the latest write, which may have deleted; undefined where nothing is kept. */
  versionOf(address: Address): number | undefined {
    return this.rows.get(address)?.versions.at(-1)?.[0];
  }

  addressesOf(name: string): Iterable<Address> {
    return this.addresses.get(name) ?? [];
  }

  all(): IterableIterator<Address> {
    return this.rows.keys();
  }

  /** Drops versions that nobody sees any more, after a snapshot was let go. */
  prune(): void {
    for (const address of [...this.manyVersions]) {
      const row = this.rows.get(address)!;
      const versions = this.seen(row.versions);
      if (versions.length < row.versions.length) this.store(address, row.seq, versions);
    }
  }

  /** The latest version and those that a snapshot still sees. */
  private seen(versions: AttributeRow['versions']): AttributeRow['versions'] {
    return versions.filter(([version], i) => {
      const next = versions[i + 1];
      return !next || this.snapshots.seesWithin(version, next[0]);
    });
  }

  private store(address: Address, seq: number, versions: AttributeRow['versions']): void {
    const gone = versions.length === 1 && versions[0]![1] === null;
    if (gone) this.rows.delete(address);
    else this.rows.set(address, { seq, versions });
    this.index(address, gone ? [] : versions);
  }

  private index(address: Address, versions: AttributeRow['versions']): void {
    if (versions.length > 1) this.manyVersions.add(address);
    else this.manyVersions.delete(address);
    const name = nameOf(address);
    const addresses = this.addresses.get(name) ?? new Set();
    if (versions.length > 0) this.addresses.set(name, addresses.add(address));
    else addresses.delete(address);
  }
}
