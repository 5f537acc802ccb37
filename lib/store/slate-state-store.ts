import type { Db } from '@slatedb/uniffi';
import { HoldfastError } from '../errors';
import type { ShardStore, StateStore } from '../ports';
import { withinTime } from '../values';
import { ShardSession } from './shard-session';
import { loadSlate, openDatabase, type SlateLibrary } from './slate-library';
import { SlateShardStore, slateFailure } from './slate-shard-store';

export interface SlateStoreOptions {
  /** What SlateDB resolves: `file:///data/orders`, `s3://bucket/prefix`, `gs://…`, `az://…`. */
  readonly url: string;
  /** Names the store in messages; must hold no secrets. Default: `url` without query and credentials. */
  readonly location?: string;
  /** How long a shard may take to open, in milliseconds. Default: 60,000. */
  readonly openTimeoutMs?: number;
  /** How long files of the log are kept after they are needed no more: longer than a writer may stand still [600s]. */
  readonly logKept?: string;
  /** Called once, after everything was closed. */
  readonly onClose?: () => Promise<void>;
}

/**
 * State in an object store, or in a folder that is used as one: a SlateDB database per shard under `shard-<n>`. SlateDB
 * fences earlier writers by conditional puts. Durable means what the object store promises; a folder is not fsynced, so it
 * outlives the death of the process but not of the power (P8). Credentials come from the environment (`AWS_*`, …).
 */
export class SlateStateStore implements StateStore {
  readonly location: string;
  private readonly openShards = new Set<ShardStore>();
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly library: SlateLibrary,
    private readonly options: SlateStoreOptions,
  ) {
    this.location = options.location ?? withoutSecrets(options.url);
  }

  /** Throws `STORE_URL` when SlateDB cannot be loaded or does not understand the URL. Touches no object yet. */
  static async connect(options: SlateStoreOptions): Promise<SlateStateStore> {
    const location = options.location ?? withoutSecrets(options.url);
    const library = await loadSlate(location);
    try {
      library.ObjectStore.resolve(options.url).dispose();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new HoldfastError('STORE_URL', `${location} cannot be used as an object store: ${why}`, {
        where: location,
        cause,
      });
    }
    return new SlateStateStore(library, options);
  }

  private get isLocal(): boolean {
    return this.options.url.startsWith('file:');
  }

  async open(shard: number): Promise<ShardStore> {
    if (this.closing !== undefined) throw new HoldfastError('CLOSED', `${this.location} was closed.`);
    const session = new ShardSession(`${this.location}, shard ${shard}`);
    const began = performance.now();
    const opening = openDatabase(this.library, `shard-${shard}`, {
      isLocal: this.isLocal,
      ...this.options,
    });
    const database = await this.withinTime(opening).catch((cause: unknown) => {
      throw slateFailure(cause, session, 'It cannot be opened');
    });
    const opened = new SlateShardStore(this.library, database, session, {
      isLocal: this.isLocal,
      openedInMs: performance.now() - began,
      onClose: (closed) => this.openShards.delete(closed),
    });
    try {
      await opened.takeEpoch();
    } catch (failure) {
      await opened.close().catch(() => {});
      throw failure;
    }
    this.openShards.add(opened);
    return opened;
  }

  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  /** SlateDB repeats failed requests for ever, also those that were refused for wrong credentials. */
  private async withinTime(opening: Promise<Db>): Promise<Db> {
    const timeoutMs = this.options.openTimeoutMs ?? 60_000;
    let late = false;
    const giveUp = async (database: Db) => {
      if (!late) return;
      await database.shutdown().catch(() => {});
      database.dispose();
    };
    opening.then(giveUp, () => {});
    return withinTime(opening, timeoutMs, () => {
      late = true;
      const advice = 'check the endpoint, the bucket and the credentials';
      return new Error(`the object store gave no useful answer within ${timeoutMs} ms; ${advice}`);
    });
  }

  private async closeAll(): Promise<void> {
    try {
      await Promise.all([...this.openShards].map((shard) => shard.close()));
    } finally {
      await this.options.onClose?.();
    }
  }
}

function withoutSecrets(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//');
}
