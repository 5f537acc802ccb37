import type * as slatedb from '@slatedb/uniffi';
import { HoldfastError } from '../errors';

export type SlateLibrary = typeof slatedb;

/** A request without an answer is made again after this time, unless the environment says otherwise; SlateDB waits 30 s. */
const REQUEST_TIMEOUT = { AWS_TIMEOUT: '10s', GOOGLE_TIMEOUT: '10s', AZURE_TIMEOUT: '10s' };

let loading: Promise<SlateLibrary> | undefined;

/**
 * Loads SlateDB when the first store needs it: it is an optional dependency with native code. Throws `STORE_URL` where it
 * is not installed or has no build for this platform.
 */
export function loadSlate(url: string): Promise<SlateLibrary> {
  // Only here, before the library has threads: they read the environment, which must not be changed under them.
  if (!loading) for (const [name, value] of Object.entries(REQUEST_TIMEOUT)) process.env[name] ??= value;
  loading ??= import('@slatedb/uniffi');
  return loading.catch((cause: unknown) => {
    loading = undefined;
    const why = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause);
    throw new HoldfastError('STORE_URL', `${url} needs @slatedb/uniffi, which cannot be loaded here: ${why}`, {
      where: url,
      fix:
        'Install @slatedb/uniffi (it has no build for musl, as in Alpine images), ' +
        'or use lmdb:<folder>, which runs everywhere on one machine.',
      cause,
    });
  });
}

/** How each shard's database is set up; durations in SlateDB's notation. */
const SETTINGS: Record<string, unknown> = {
  // Every write flushes the log itself, so a timer would only add empty rounds.
  flush_interval: null,
  // Small tables keep short what a new owner has to replay from the log.
  l0_sst_size_bytes: 4 * 1024 * 1024,
  // A compaction keeps what it replaced for 15 minutes, whatever the settings say: compact less often, twice as much at a
  // time, and a third fewer bytes lie around.
  l0_max_ssts: 16,
  'compactor_options.scheduler_options': { min_compaction_sources: '8', max_compaction_sources: '16' },
};

/** How often an owner looks for files of the log that nobody needs; SlateDB looks first when this time has passed. */
const LOG_LOOK = '20s';

export interface DatabaseOptions {
  readonly url: string;
  readonly isLocal: boolean;
  /** A writer that was paused for less than this still meets the log files that fence it [600s]. */
  readonly logKept?: string;
}

/** Opens the database at `path`, which fences its earlier writer. */
export async function openDatabase(
  library: SlateLibrary,
  path: string,
  { url, isLocal, logKept = '600s' }: DatabaseOptions,
): Promise<slatedb.Db> {
  const settings = library.Settings.default();
  // Each has connections of its own. Calls that wait for one that another gives back can block the process for good: the
  // library tells JavaScript of a call's progress under a lock, which the call that gives the connection back needs as well.
  const objects = library.ObjectStore.resolve(url);
  const builder = new library.DbBuilder(path, objects);
  try {
    const log = { 'garbage_collector_options.wal_options': { interval: LOG_LOOK, min_age: logKept } };
    for (const [key, value] of Object.entries({ ...SETTINGS, ...log })) settings.set(key, JSON.stringify(value));
    builder.with_settings(settings);
    // The cache grows up to half a gigabyte per database and cannot be bounded from here. Files of a folder are cached by
    // the operating system; from an object store each read without it would take several requests.
    if (isLocal) builder.with_db_cache_disabled();
    return await builder.build();
  } finally {
    builder.dispose();
    objects.dispose();
    settings.dispose();
  }
}
