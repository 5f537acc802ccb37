import type { ChainableCommander, Redis } from 'ioredis';
import { HoldfastError } from '../../errors';
import type { Logger, Origin } from '../../ports';
import { encodeRecord } from '../../values';
import { redisError } from './redis-connections';
import type { RedisKeys } from './redis-keys';

/** An entry of a stream holds several messages, up to about this much. */
const entryBytes = 512 * 1024;
const entryMessages = 500;
/** A process that does not read for this long is gone, with what was posted to it. */
const mailboxMs = 5 * 60_000;
/** Entries that nobody took from an inbox before senders are refused (P9). */
const inboxEntries = 50_000;
/** Then the next one is let through, to see how it is now. */
const crowdedMs = 1_000;

interface Letter {
  readonly bytes: Uint8Array;
  resolve(): void;
  reject(error: unknown): void;
}

/** Everything a process sends in one tick goes to Redis in one round trip. */
export class Outbox {
  private letters = new Map<number, Letter[]>();
  private posts = new Map<string, Uint8Array[]>();
  private commands: ((pipeline: ChainableCommander) => void)[] = [];
  private results: ((error: Error | null, result: unknown) => void)[] = [];
  /** Shards whose inbox was too long, and when that is looked at again. */
  private readonly crowded = new Map<number, number>();
  private planned = false;
  private closed = false;

  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly logger: Logger,
  ) {}

  /** Resolves when Redis has it. Rejects with `OVERLOADED` what may be refused where too much waits (P9). */
  send(shard: number, message: unknown, mayBeRefused: boolean): Promise<void> {
    if (this.closed) return Promise.reject(new HoldfastError('CLOSED', 'The connection to Redis was closed.'));
    if (mayBeRefused && performance.now() < (this.crowded.get(shard) ?? 0)) return Promise.reject(this.tooMany(shard));
    return new Promise((resolve, reject) => {
      const letter = { bytes: encodeRecord(message), resolve, reject };
      const letters = this.letters.get(shard);
      if (letters) letters.push(letter);
      else this.letters.set(shard, [letter]);
      this.flushLater();
    });
  }

  post(process: string, message: unknown, { shard, epoch }: Origin): void {
    const bytes = encodeRecord([shard, epoch, message]);
    const posts = this.posts.get(process);
    if (posts) posts.push(bytes);
    else this.posts.set(process, [bytes]);
    this.flushLater();
  }

  /** One more command in the round trip of this tick. */
  command<T>(name: string, ...args: (string | number | Uint8Array)[]): Promise<T> {
    if (this.closed) return Promise.reject(new HoldfastError('CLOSED', 'The connection to Redis was closed.'));
    return new Promise((resolve, reject) => {
      this.commands.push((pipeline) => pipeline.call(name, ...args.map(asArgument)));
      this.results.push((error, result) => (error ? reject(redisError(error)) : resolve(result as T)));
      this.flushLater();
    });
  }

  /** A command whose failure is made good otherwise. */
  attempt(name: string, ...args: (string | number | Uint8Array)[]): void {
    this.command(name, ...args).catch(() => {});
  }

  close(): void {
    this.closed = true;
  }

  private flushLater(): void {
    if (this.planned) return;
    this.planned = true;
    queueMicrotask(() => {
      this.planned = false;
      this.flush();
    });
  }

  private flush(): void {
    const pipeline = this.redis.pipeline();
    const results: ((error: Error | null, result: unknown) => void)[] = [];
    for (const [shard, letters] of this.letters) this.putLetters(pipeline, results, shard, letters);
    for (const put of this.commands) put(pipeline);
    results.push(...this.results);
    // What is told comes after what it rests on: a refusal after the removal of its message.
    for (const [process, posts] of this.posts) this.putPosts(pipeline, results, process, posts);
    this.letters = new Map();
    this.posts = new Map();
    this.commands = [];
    this.results = [];
    pipeline.exec().then(
      (answers) => {
        for (const [i, settle] of results.entries()) {
          const [error, result] = answers?.[i] ?? [new Error('the pipeline was aborted'), undefined];
          settle(error, result);
        }
      },
      (error: Error) => {
        for (const settle of results) settle(error, undefined);
      },
    );
  }

  private putLetters(
    pipeline: ChainableCommander,
    results: ((error: Error | null, result: unknown) => void)[],
    shard: number,
    letters: readonly Letter[],
  ): void {
    const key = this.keys.inbox(shard);
    for (const entry of entriesOf(letters, ({ bytes }) => bytes.length)) {
      pipeline.xadd(key, '*', ...entry.flatMap(({ bytes }) => ['m', asArgument(bytes)]));
      results.push((error) => {
        for (const letter of entry) if (error) letter.reject(redisError(error));
        if (!error) for (const letter of entry) letter.resolve();
      });
    }
    pipeline.xlen(key);
    results.push((_, length) => {
      if (typeof length === 'number' && length > inboxEntries) this.crowded.set(shard, performance.now() + crowdedMs);
      else this.crowded.delete(shard);
    });
  }

  private putPosts(
    pipeline: ChainableCommander,
    results: ((error: Error | null, result: unknown) => void)[],
    process: string,
    posts: readonly Uint8Array[],
  ): void {
    const key = this.keys.mailbox(process);
    const lost = (error: Error | null) => {
      // Whoever misses it asks again.
      if (error) this.logger.debug('a message could not be posted', { process, error });
    };
    for (const entry of entriesOf(posts, ({ length }) => length)) {
      pipeline.xadd(key, '*', ...entry.flatMap((bytes) => ['m', asArgument(bytes)]));
      results.push(lost);
    }
    pipeline.pexpire(key, mailboxMs);
    results.push(lost);
  }

  private tooMany(shard: number): HoldfastError {
    return new HoldfastError('OVERLOADED', `More than ${inboxEntries} messages to shard ${shard} wait to be taken.`);
  }
}

function entriesOf<T>(all: readonly T[], size: (one: T) => number): T[][] {
  const entries: T[][] = [];
  let entry: T[] = [];
  let bytes = 0;
  for (const one of all) {
    if (entry.length === entryMessages || (entry.length > 0 && bytes + size(one) > entryBytes)) {
      entries.push(entry);
      entry = [];
      bytes = 0;
    }
    entry.push(one);
    bytes += size(one);
  }
  if (entry.length > 0) entries.push(entry);
  return entries;
}

function asArgument(value: string | number | Uint8Array): string | number | Buffer {
  if (!(value instanceof Uint8Array)) return value;
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
