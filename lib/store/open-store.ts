import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { HoldfastError } from '../errors';
import type { StateStore } from '../ports';
import { FileLock } from './file-lock';
import { LmdbStateStore } from './lmdb-state-store';
import { MemoryStateStore } from './memory-state-store';
import { SlateStateStore } from './slate-state-store';

const ACCEPTED =
  'memory:, file:<folder>, lmdb:<folder> (relative, absolute or as file:///folder), s3://bucket/prefix, gs://bucket/prefix ' +
  'or az://container/prefix';

export interface OpenStoreOptions {
  /**
   * Several engines share the folder of a `file:` store, each a part of its shards: it is not locked for this process. Only
   * for engines that hold leases; they fence each other [false].
   */
  readonly shared?: boolean;
}

/**
 * Opens the state store that a URL names: `memory:`, `file:<folder>` and `s3://`, `gs://`, `az://` (SlateDB), or
 * `lmdb:<folder>`. Folders are made, and locked for this process. Credentials come from the environment.
 *
 * Throws `STORE_URL` when the URL names no adapter or its library cannot be loaded, and `STORE_IN_USE` when another
 * living process holds the folder.
 */
export async function openStore(url: string, { shared = false }: OpenStoreOptions = {}): Promise<StateStore> {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url) ?? [];
  switch (scheme?.toLowerCase()) {
    case 'memory':
      return new MemoryStateStore();
    case 'file':
      return inFolder(
        'file',
        rest!,
        (folder, location, onClose) => SlateStateStore.connect({ url: pathToFileURL(folder).href, location, onClose }),
        shared,
      );
    case 'lmdb':
      return inFolder('lmdb', rest!, (folder, location, onClose) =>
        LmdbStateStore.connect({ folder, location, onClose }),
      );
    case 's3':
    case 'gs':
    case 'az':
      return SlateStateStore.connect({ url });
    default:
      throw notAccepted(`'${url}' names no state store`);
  }
}

type Connect = (folder: string, location: string, onClose: () => Promise<void>) => Promise<StateStore>;

async function inFolder(scheme: string, rest: string, connect: Connect, shared = false): Promise<StateStore> {
  const folder = folderOf(scheme, rest);
  const location = `${scheme}:${folder}`;
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError('STORE_URL', `The folder of ${location} cannot be made: ${why}`, {
      where: location,
      cause,
    });
  }
  if (shared) return connect(folder, location, async () => {});
  const lock = await FileLock.acquire(folder, location);
  try {
    return await connect(folder, location, () => lock.release());
  } catch (failure) {
    await lock.release();
    throw failure;
  }
}

function folderOf(scheme: string, rest: string): string {
  if (rest === '') throw notAccepted(`'${scheme}:' names no folder`);
  if (!rest.startsWith('//')) return resolve(rest);
  try {
    return fileURLToPath(`file:${rest}`);
  } catch (cause) {
    throw notAccepted(`'${scheme}:${rest}' names a host; a relative folder is written ${scheme}:folder`, cause);
  }
}

function notAccepted(found: string, cause?: unknown): HoldfastError {
  return new HoldfastError('STORE_URL', `${found}. Accepted are ${ACCEPTED}.`, { cause });
}
