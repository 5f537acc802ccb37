import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type * as lmdb from 'lmdb';
import { HoldfastError } from '../errors';
import type { ShardStore, StateStore } from '../ports';
import { LmdbShardStore, type LmdbTable } from './lmdb-shard-store';
import { ShardSession } from './shard-session';

export interface LmdbStoreOptions {
  /** The folder, absolute; made when it is not there. */
  readonly folder: string;
  /** Names the store in messages. Default: `lmdb:<folder>`. */
  readonly location?: string;
  /** Called once, after everything was closed. */
  readonly onClose?: () => Promise<void>;
}

/**
 * State on the disk of one machine: an LMDB environment per shard under `shard-<n>`. A write is on the disk (fdatasync)
 * before it resolves, so it outlives the death of the process and of the power (P8). Keys take at most 1,978 bytes.
 */
export class LmdbStateStore implements StateStore {
  readonly location: string;
  /** One environment may be open only once in a process, so it stays open while owners come and go. */
  private readonly tables = new Map<number, Promise<LmdbTable>>();
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly library: typeof lmdb,
    private readonly options: LmdbStoreOptions,
  ) {
    this.location = options.location ?? `lmdb:${options.folder}`;
  }

  /** Throws `STORE_URL` where the optional dependency `lmdb` is not installed or has no build for this platform. */
  static async connect(options: LmdbStoreOptions): Promise<LmdbStateStore> {
    const location = options.location ?? `lmdb:${options.folder}`;
    const library = await import('lmdb').catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause);
      throw new HoldfastError('STORE_URL', `${location} needs the package lmdb, which cannot be loaded here: ${why}`, {
        where: location,
        fix: 'Install lmdb, or use file:<folder>.',
        cause,
      });
    });
    return new LmdbStateStore(library, options);
  }

  async open(shard: number): Promise<ShardStore> {
    if (this.closing !== undefined) throw new HoldfastError('CLOSED', `${this.location} was closed.`);
    const session = new ShardSession(`${this.location}, shard ${shard}`);
    try {
      let table = this.tables.get(shard);
      if (table === undefined) {
        table = this.openTable(join(this.options.folder, `shard-${shard}`));
        this.tables.set(shard, table);
      }
      const opened = new LmdbShardStore(await table, session);
      await opened.takeEpoch();
      return opened;
    } catch (cause) {
      this.tables.delete(shard);
      if (cause instanceof HoldfastError) throw cause;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new HoldfastError('STORE_UNAVAILABLE', `${session.where} cannot be opened: ${why}`, {
        where: session.where,
        cause,
      });
    }
  }

  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async closeAll(): Promise<void> {
    try {
      for (const table of this.tables.values()) await (await table).close();
    } finally {
      await this.options.onClose?.();
    }
  }

  private async openTable(folder: string): Promise<LmdbTable> {
    await mkdir(folder, { recursive: true });
    const table = this.library.open<Buffer, Buffer>({
      path: folder,
      encoding: 'binary',
      keyEncoding: 'binary',
      // Versions let the fence be compared inside the write transaction.
      useVersions: true,
      // A commit resolves after its sync, not before.
      overlappingSync: false,
    });
    // The names of new files survive a power cut only when their folders are synced too.
    await syncFolder(folder);
    await syncFolder(this.options.folder);
    return table;
  }
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
