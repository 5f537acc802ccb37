import { HoldfastError } from '../errors';
import type { KeyRange, StoreStats, WriteBatch } from '../ports';

/** Keys that begin with NUL belong to the adapters; scans never return them. */
const FIRST_OPEN_KEY = '\u0001';

/** Where an adapter keeps the epoch of a shard, next to its data. */
export const EPOCH_KEY = '\u0000epoch';

/**
 * The life of one opened shard, the same for every adapter: writes are applied one after another in the order of their
 * calls, and after a failure, a fence or close nothing more is written.
 */
export class ShardSession {
  private readonly counted = { writes: 0, records: 0, bytes: 0 };
  private ended: HoldfastError | undefined;
  private tail: Promise<void> = Promise.resolve();

  /** `where` names the shard in messages, e.g. `file:/data/orders, shard 3`. */
  constructor(readonly where: string) {}

  get stats(): StoreStats {
    return this.counted;
  }

  /** Throws why the shard can no longer be used: `CLOSED`, `FENCED` or `STORE_UNAVAILABLE`. */
  assertUsable(): void {
    if (this.ended !== undefined) throw this.ended;
  }

  /** Runs `apply` after all earlier writes, unless one of them failed, and turns what it throws into a typed error. */
  write(batch: WriteBatch, apply: () => Promise<void>): Promise<void> {
    const written = this.tail.then(async () => {
      this.assertUsable();
      const bytes = sizeOf(batch, this.where);
      try {
        if (batch.size > 0) await apply();
      } catch (cause) {
        // A fence or close that came to light meanwhile says more than this failure.
        this.ended ??= this.failure(cause, 'The write failed, and whether it took place is unknown');
        throw this.ended;
      }
      this.counted.writes++;
      this.counted.records += batch.size;
      this.counted.bytes += bytes;
    });
    this.tail = written.catch(() => {});
    return written;
  }

  /** Runs a read. A failed read leaves the shard usable, unless it says that another owner took over. */
  async read<T>(run: () => Promise<T>): Promise<T> {
    this.assertUsable();
    try {
      return await run();
    } catch (cause) {
      const failure = this.failure(cause, 'The read failed');
      if (failure.code === 'FENCED') this.ended ??= failure;
      throw failure;
    }
  }

  /** Lets no new write or read begin. False when it was closed before. */
  end(): boolean {
    const isFirst = this.ended?.code !== 'CLOSED';
    this.ended = new HoldfastError('CLOSED', `${this.where} was closed.`, { where: this.where });
    return isFirst;
  }

  /** Resolves when the writes under way have ended. */
  idle(): Promise<void> {
    return this.tail;
  }

  fenced(cause?: unknown): HoldfastError {
    return new HoldfastError('FENCED', `${this.where} was opened by another owner; this one may not write any more.`, {
      where: this.where,
      cause,
    });
  }

  private failure(cause: unknown, what: string): HoldfastError {
    if (cause instanceof HoldfastError) return cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    return new HoldfastError('STORE_UNAVAILABLE', `${what} (${this.where}): ${why}`, { where: this.where, cause });
  }
}

/** The range without the adapters' own keys; undefined when nothing is left of it. */
export function openRange(range: KeyRange): KeyRange | undefined {
  const from = range.from < FIRST_OPEN_KEY ? FIRST_OPEN_KEY : range.from;
  if (range.limit === 0 || compareKeys(from, range.to) >= 0) return undefined;
  return { ...range, from };
}

/** Orders keys as their UTF-8 bytes are ordered, which differs from `<` where surrogate pairs meet U+E000 to U+FFFF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Moves surrogates, the halves of what lies above U+FFFF, behind all other units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function sizeOf(batch: WriteBatch, where: string): number {
  let bytes = 0;
  for (const [key, value] of batch) {
    if (key < FIRST_OPEN_KEY) {
      throw new HoldfastError('INVALID_ARGUMENT', `A key must not be empty or begin with NUL (${where}).`, { where });
    }
    bytes += key.length + (value?.byteLength ?? 0);
  }
  return bytes;
}
