import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { type FileHandle, link, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { HoldfastError } from '../errors';

/** Who holds a lock. */
interface Holder {
  readonly pid: number;
  /** When the process started, in the kernel's notation: tells it from a later one with the same pid. '' where it is not shown. */
  readonly started: string;
  /** Where `pid` means something: host, its boot and pid namespace. */
  readonly realm: string;
  readonly host: string;
  readonly nonce: string;
}

const LOCK_FILE = 'holdfast.lock';

/** Holders of other machines are known to live by the file's age only. */
const BEAT_MS = 2_000;
const STALE_MS = 10_000;

/** Folders locked by this process, by their real path. */
const held = new Set<string>();

/** An exclusive lock on a folder, for stores that one process at a time may use. */
export class FileLock {
  private readonly beat: NodeJS.Timeout;

  private constructor(
    private readonly folder: string,
    private readonly path: string,
    private readonly taken: Taken,
  ) {
    const { file, content } = taken;
    // Through the open file, so that a lock that somebody else took over is left alone.
    this.beat = setInterval(() => void file.write(content, 0).catch(() => {}), BEAT_MS);
    this.beat.unref();
  }

  /**
   * Takes the lock of a folder that exists. The lock of a process that is gone, `kill -9` included, is taken over at once;
   * that of another machine or container 10 s after its last beat. Throws `STORE_IN_USE` naming the holder; `location`
   * names the store. The store's own fence stays the safety net: a lock file can be removed by hand.
   */
  static async acquire(folder: string, location: string): Promise<FileLock> {
    const real = await realpath(folder);
    if (held.has(real)) throw inUse(location, `this process (pid ${process.pid})`);
    held.add(real);
    try {
      const path = join(real, LOCK_FILE);
      return new FileLock(real, path, await take(path, location));
    } catch (failure) {
      held.delete(real);
      throw failure;
    }
  }

  /** Lets others take the lock. Idempotent. */
  async release(): Promise<void> {
    clearInterval(this.beat);
    if (!held.has(this.folder)) return;
    try {
      await this.taken.file.close();
      if ((await readHolder(this.path))?.nonce === this.taken.nonce) await rm(this.path, { force: true });
    } finally {
      held.delete(this.folder);
    }
  }
}

interface Taken {
  readonly nonce: string;
  readonly file: FileHandle;
  readonly content: string;
}

async function take(path: string, location: string): Promise<Taken> {
  const me: Holder = { ...identityOf(process.pid), host: hostname(), nonce: randomUUID() };
  const content = JSON.stringify(me);
  const mine = `${path}.${me.nonce}`;
  const file = await open(mine, 'wx');
  try {
    await file.write(content, 0);
    for (;;) {
      // A link appears with its content, and fails when the name is taken.
      if (await linked(mine, path)) return { nonce: me.nonce, file, content };
      const holder = await readHolder(path);
      if (holder === undefined) continue;
      await file.write(content, 0);
      if (await isAlive(holder, path, file)) throw inUse(location, `process ${holder.pid} on ${holder.host}`);
      await putAway(path, holder, `${mine}.stale`);
    }
  } catch (failure) {
    await file.close();
    throw failure;
  } finally {
    await rm(mine, { force: true });
  }
}

/** Removes the lock of a holder that is gone, unless somebody else took it over in the meantime. */
async function putAway(path: string, gone: Holder, aside: string): Promise<void> {
  try {
    await rename(path, aside);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return;
    throw cause;
  }
  if ((await readHolder(aside))?.nonce !== gone.nonce) await linked(aside, path);
  await rm(aside, { force: true });
}

async function isAlive(holder: Holder, path: string, mine: FileHandle): Promise<boolean> {
  if (holder.nonce === UNREADABLE) return false;
  const now = identityOf(holder.pid);
  if (holder.realm === now.realm) return now.started !== GONE && now.started === holder.started;
  try {
    // Both times are the file system's, so the clocks of the machines do not matter.
    const [lock, own] = await Promise.all([stat(path), mine.stat()]);
    return own.mtimeMs - lock.mtimeMs < STALE_MS;
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return false;
    throw cause;
  }
}

const GONE = 'gone';
const UNREADABLE = 'unreadable';

/** Undefined when there is no lock. One that cannot be read is what a power cut left: its holder is gone. */
async function readHolder(path: string): Promise<Holder | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw cause;
  }
  try {
    const holder = JSON.parse(text) as Holder;
    if (typeof holder.pid === 'number' && typeof holder.nonce === 'string') return holder;
  } catch {
    // Falls through.
  }
  return { pid: 0, started: GONE, realm: '', host: '', nonce: UNREADABLE };
}

/** What tells a process from all others, as far as the platform shows it. */
function identityOf(pid: number): Pick<Holder, 'pid' | 'started' | 'realm'> {
  const realm = [hostname(), textOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())];
  realm.push(textOf(() => readlinkSync('/proc/self/ns/pid')));
  return { pid, started: startOf(pid), realm: realm.join(' ') };
}

function startOf(pid: number): string {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    // EPERM: it lives, under another user.
    if (codeOf(cause) === 'ESRCH') return GONE;
  }
  // The name of the program, in brackets, may hold anything; state is the first and start time the 20th field after it.
  const status = textOf(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
  // A zombie was killed and only waits for its parent to notice.
  return fields[0] === 'Z' || fields[0] === 'X' ? GONE : (fields[19] ?? '');
}

function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

/** False when the name is taken. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return false;
    throw cause;
  }
}

function codeOf(cause: unknown): unknown {
  return (cause as { code?: unknown }).code;
}

function inUse(location: string, holder: string): HoldfastError {
  return new HoldfastError('STORE_IN_USE', `${location} is in use by ${holder}.`, { where: location });
}
