import type { Db } from '@slatedb/uniffi';
import { HoldfastError } from '../errors';
import type { Entry, KeyRange, ShardStore, StoreStats, WriteBatch } from '../ports';
import { withinTime } from '../values';
import { EPOCH_KEY, openRange, type ShardSession } from './shard-session';
import type { SlateLibrary } from './slate-library';
import { SlateReplay } from './slate-replay';

/** A put copies into native memory at some 30 µs; after this many, other work gets a turn. */
const PUTS_PER_TURN = 200;

/** SlateDB itself repeats requests that fail for as long as it takes. */
const READ_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 10_000;

/** Only what is durable is read: an unfinished write may still be lost. */
const DURABLE = { durability_filter: 'Remote', dirty: false, cache_blocks: true } as const;

const SCAN = { ...DURABLE, read_ahead_bytes: 256 * 1024, max_fetch_tasks: 2, order: undefined };

/** One shard in one SlateDB database. */
export class SlateShardStore implements ShardStore {
  private takenEpoch = 0;
  private lastRead: Promise<unknown> = Promise.resolve();
  private readonly replay: SlateReplay;

  constructor(
    private readonly library: SlateLibrary,
    private readonly database: Db,
    private readonly session: ShardSession,
    private readonly options: {
      readonly isLocal: boolean;
      readonly openedInMs: number;
      onClose(closed: ShardStore): void;
    },
  ) {
    this.replay = new SlateReplay(() => database.flush_with_options({ flush_type: 'MemTable' }), options.openedInMs);
  }

  get epoch(): number {
    return this.takenEpoch;
  }

  get stats(): StoreStats {
    return this.session.stats;
  }

  /** Opening the database fenced every earlier writer, so that nobody else can be counting. */
  async takeEpoch(): Promise<void> {
    const before = await this.get(EPOCH_KEY);
    this.takenEpoch = before === undefined ? 1 : Number(Buffer.from(before).toString()) + 1;
    const record = new Map([[EPOCH_KEY, Buffer.from(String(this.takenEpoch))]]);
    try {
      await this.put(record);
    } catch (cause) {
      throw slateFailure(cause, this.session, 'Its epoch could not be written');
    }
  }

  write(batch: WriteBatch): Promise<void> {
    return this.session.write(batch, async () => {
      try {
        await this.put(batch);
      } catch (cause) {
        throw slateFailure(cause, this.session, 'The write failed, and whether it took place is unknown');
      }
    });
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.read(() => this.getDurable(key));
  }

  async *scan(range: KeyRange): AsyncIterable<Entry> {
    const within = openRange(range);
    if (within === undefined) return this.session.assertUsable();
    const rows = await this.read(() =>
      this.database.scan_with_options(
        { start: Buffer.from(within.from), start_inclusive: true, end: Buffer.from(within.to), end_inclusive: false },
        SCAN,
      ),
    );
    try {
      for (let left = within.limit ?? Number.POSITIVE_INFINITY; left > 0; left--) {
        const row = await this.read(() => rows.next());
        if (row === undefined) return;
        yield [textOf(row.key), row.value];
      }
    } finally {
      rows.dispose();
    }
  }

  /** A database that does not end in time ends in the background: what it still repeats concerns nobody any more. */
  async close(): Promise<void> {
    const isFirst = this.session.end();
    const ending = isFirst ? this.shutDown() : this.session.idle();
    await withinTime(ending, CLOSE_TIMEOUT_MS, () => new Error('It does not end.')).catch(() => {});
    if (isFirst) this.options.onClose(this);
  }

  private async shutDown(): Promise<void> {
    await this.session.idle();
    await this.replay.end();
    try {
      await this.database.shutdown();
    } catch {
      // A fenced or broken database has nothing left to save: every acknowledged write was durable before.
    } finally {
      this.database.dispose();
    }
  }

  private async put(batch: WriteBatch): Promise<void> {
    const native = new this.library.WriteBatch();
    try {
      let puts = 0;
      for (const [key, value] of batch) {
        if (value === undefined) native.delete(Buffer.from(key));
        else native.put(Buffer.from(key), value);
        if (++puts % PUTS_PER_TURN === 0) await new Promise(setImmediate);
      }
      // Flushing at once is several times faster than waiting for the flush that comes by itself.
      await this.database.write_with_options(native, { await_durable: false });
    } finally {
      native.dispose();
    }
    const began = performance.now();
    await this.database.flush_with_options({ flush_type: 'Wal' });
    this.replay.wrote(performance.now() - began);
  }

  private getDurable(key: string): Promise<Uint8Array | undefined> {
    return this.database.get_with_options(Buffer.from(key), DURABLE);
  }

  /**
   * From an object store, one read after the other: reads that wait for a connection which another gives back can block the
   * process for good (see `openDatabase`). Most find their blocks in the cache.
   */
  private read<T>(run: () => Promise<T>): Promise<T> {
    const timed = () => withinTime(run(), READ_TIMEOUT_MS, () => new Error(`no answer within ${READ_TIMEOUT_MS} ms`));
    return this.session.read(async () => {
      const reading = this.options.isLocal ? timed() : this.lastRead.then(timed);
      this.lastRead = reading.catch(() => {});
      try {
        return await reading;
      } catch (cause) {
        throw slateFailure(cause, this.session, 'The read failed');
      }
    });
  }
}

/** SlateDB's errors as ours; `what` says what did not work. */
export function slateFailure(cause: unknown, session: ShardSession, what: string): HoldfastError {
  const { tag, reason, message } = cause as { tag?: unknown; reason?: unknown; message?: unknown };
  if (tag === 'Closed' && reason === 'Fenced') return session.fenced(cause);
  return new HoldfastError('STORE_UNAVAILABLE', `${what} (${session.where}): ${message ?? String(cause)}`, {
    where: session.where,
    cause,
  });
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString();
}
