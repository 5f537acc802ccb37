import { HoldfastError } from '../../errors';
import type { Entry, KeyRange, ShardStore, WriteBatch } from '../../ports';
import { MemoryTable } from '../../store/memory-table';
import type { SimProcess } from './sim-process';

export interface DiskShard {
  readonly shard: number;
  readonly table: MemoryTable;
  epoch: number;
  /** Who opened the shard last, and when. */
  owner: SimProcess | undefined;
  openedAt: number;
}

/** What is durable. Outlives every process; whoever looks at it from outside sees it here. */
export class Disk {
  readonly location = 'simulated:';
  private readonly shards = new Map<number, DiskShard>();

  /** `onWrite` is told of each batch that became durable. */
  constructor(
    private readonly onWrite: (shard: DiskShard, batch: WriteBatch, writer: SimProcess) => void,
    private readonly onOpen: (shard: DiskShard, owner: SimProcess) => void,
  ) {}

  shard(shard: number): DiskShard {
    let found = this.shards.get(shard);
    if (!found) {
      found = { shard, table: new MemoryTable(), epoch: 0, owner: undefined, openedAt: 0 };
      this.shards.set(shard, found);
    }
    return found;
  }

  open(shard: number, owner: SimProcess, at: number): number {
    const data = this.shard(shard);
    data.owner = owner;
    data.openedAt = at;
    data.epoch++;
    this.onOpen(data, owner);
    return data.epoch;
  }

  /** Applies a batch if its writer still owns the shard. */
  write(shard: number, epoch: number, batch: WriteBatch, writer: SimProcess): void {
    const data = this.shard(shard);
    if (data.epoch !== epoch) throw fenced(shard);
    data.table.apply(batch);
    this.onWrite(data, batch, writer);
  }

  /** A look at a shard that changes nothing and takes no time. */
  view(shard: number): ShardStore {
    const { table, epoch } = this.shard(shard);
    return {
      epoch,
      stats: { writes: 0, records: 0, bytes: 0 },
      write: async () => {
        throw new Error('A view of the disk cannot be written through.');
      },
      get: async (key) => table.get(key),
      async *scan(range: KeyRange): AsyncIterable<Entry> {
        yield* table.entries(range);
      },
      close: async () => {},
    };
  }
}

export function fenced(shard: number): HoldfastError {
  return new HoldfastError('FENCED', `shard ${shard} was opened by another owner; this one may not write any more.`);
}
