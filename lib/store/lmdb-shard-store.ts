import type { RootDatabase } from 'lmdb';
import { HoldfastError } from '../errors';
import type { Entry, KeyRange, ShardStore, StoreStats, WriteBatch } from '../ports';
import { EPOCH_KEY, openRange, type ShardSession } from './shard-session';

export type LmdbTable = RootDatabase<Buffer, Buffer>;

/** LMDB's limit at its usual page size. */
const MAX_KEY_BYTES = 1978;

/** Rows are read without waiting; after this many, other work gets a turn. */
const ROWS_PER_TURN = 500;

/** Every record has a version, of which only the epoch record's means something. */
const ANY_VERSION = 0;

const EPOCH = Buffer.from(EPOCH_KEY);

/** One shard in one LMDB environment. The version of its epoch record is the epoch, and the fence. */
export class LmdbShardStore implements ShardStore {
  private takenEpoch = 0;

  constructor(
    private readonly table: LmdbTable,
    private readonly session: ShardSession,
  ) {}

  get epoch(): number {
    return this.takenEpoch;
  }

  get stats(): StoreStats {
    return this.session.stats;
  }

  /** Counts the epoch up, which fences every earlier writer. */
  async takeEpoch(): Promise<void> {
    for (;;) {
      const before = this.table.getEntry(EPOCH)?.version;
      const epoch = (before ?? 0) + 1;
      const record = () => void this.table.put(EPOCH, Buffer.from(String(epoch)), epoch);
      const taken =
        before === undefined
          ? await this.table.ifNoExists(EPOCH, record)
          : await this.table.ifVersion(EPOCH, before, record);
      if (!taken) continue;
      this.takenEpoch = epoch;
      return;
    }
  }

  write(batch: WriteBatch): Promise<void> {
    return this.session.write(batch, async () => {
      const operations = [...batch].map(([key, value]) => ({ key: this.keyOf(key), value }));
      const written = await this.table.ifVersion(EPOCH, this.takenEpoch, () => {
        for (const { key, value } of operations) {
          if (value === undefined) void this.table.remove(key);
          else void this.table.put(key, value as Buffer, ANY_VERSION);
        }
      });
      if (!written) throw this.session.fenced();
    });
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.session.read(async () => this.table.get(Buffer.from(key)));
  }

  async *scan(range: KeyRange): AsyncIterable<Entry> {
    this.session.assertUsable();
    const within = openRange(range);
    if (within === undefined) return;
    const transaction = this.table.useReadTransaction();
    try {
      const rows = this.table.getRange({
        start: Buffer.from(within.from),
        end: Buffer.from(within.to),
        ...(within.limit === undefined ? {} : { limit: within.limit }),
        transaction,
      });
      let read = 0;
      for (const { key, value } of rows) {
        if (++read % ROWS_PER_TURN === 0) await new Promise(setImmediate);
        yield [key.toString(), value];
        this.session.assertUsable();
      }
    } finally {
      transaction.done();
    }
  }

  async close(): Promise<void> {
    this.session.end();
    await this.session.idle();
  }

  private keyOf(key: string): Buffer {
    const bytes = Buffer.from(key);
    if (bytes.length <= MAX_KEY_BYTES) return bytes;
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `A key takes ${bytes.length} bytes; LMDB's limit is ${MAX_KEY_BYTES}.`,
      {
        where: this.session.where,
      },
    );
  }
}
