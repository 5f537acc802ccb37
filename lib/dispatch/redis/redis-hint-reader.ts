import type { Redis } from 'ioredis';
import type { AnyHint, HintReader, Logger, Subscription } from '../../ports';
import { decodeRecord, encodeRecord } from '../../values';
import type { Outbox } from './outbox';
import type { RedisConnections } from './redis-connections';
import { hintGroup, queueName, queueParts, type RedisKeys } from './redis-keys';
import { entriesIn, type RawStreams, type StreamEntry } from './stream-entry';
import { sleep } from './stream-listener';

const blockMs = 1_000;
/** Task queues that appear are found within this time. */
const discoverMs = 1_000;
/** What another worker read and did not claim is taken over after this time. */
const unclaimedMs = 10_000;
const lookMs = 5_000;
/** Workers that are gone are struck off the list of a stream's readers after this time. */
const goneMs = 10 * 60_000;

/**
 * KEYS: a stream. ARGV: the group and a reader. Strikes the reader off, unless it has entries: with them it would be forgotten
 * that somebody got them.
 */
const strikeOff = `
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
`;

interface Origin {
  readonly key: string;
  readonly entryId: string;
}

export interface HintReaderParts {
  readonly process: string;
  readonly wanted: Subscription;
  readonly connections: RedisConnections;
  readonly keys: RedisKeys;
  readonly outbox: Outbox;
  readonly logger: Logger;
  onHint(hint: AnyHint): void;
}

/** Reads hints of any number of streams as one consumer of their groups, while its worker has room. */
export class RedisHintReader implements HintReader<AnyHint> {
  private readonly origins = new Map<AnyHint, Origin>();
  private readonly open = new Set<string>();
  private streams: string[] = [];
  private wanted = 0;
  private wake: () => void = () => {};
  private closed = false;
  private discoveredAt = Number.NEGATIVE_INFINITY;
  private lookedAt = performance.now();

  constructor(private readonly parts: HintReaderParts) {
    this.loop();
  }

  want(count: number): void {
    this.wanted = count;
    if (count > 0) this.wake();
  }

  done(hint: AnyHint): void {
    const origin = this.forget(hint);
    if (origin) this.remove(origin);
  }

  ended(): void {}

  giveBack(hint: AnyHint): void {
    const origin = this.forget(hint);
    if (!origin) return;
    this.parts.outbox.attempt('XADD', origin.key, '*', 'h', encodeRecord(hint));
    this.remove(origin);
  }

  close(): void {
    if (this.closed) return;
    for (const hint of [...this.origins.keys()]) this.giveBack(hint);
    this.closed = true;
    this.wake();
    for (const key of this.streams) this.strikeOff(key, this.parts.process);
  }

  private forget(hint: AnyHint): Origin | undefined {
    const origin = this.origins.get(hint);
    this.origins.delete(hint);
    if (origin) this.open.delete(`${origin.key} ${origin.entryId}`);
    return origin;
  }

  private remove({ key, entryId }: Origin): void {
    this.parts.outbox.attempt('XDEL', key, entryId);
    this.parts.outbox.attempt('XACK', key, hintGroup, entryId);
  }

  private async loop(): Promise<void> {
    const { connections, logger } = this.parts;
    const connection = await connections.blocking();
    let failures = 0;
    while (!this.closed) {
      try {
        if (this.wanted <= 0) await this.whenWanted();
        if (this.closed) break;
        await this.discover();
        if (this.streams.length === 0) await sleep(200);
        else await this.read(connection);
        failures = 0;
      } catch (error) {
        if (this.closed) break;
        failures++;
        connections.failed(connection, error);
        logger.debug('hints could not be read and are read again', { error });
        if (String(error).includes('NOGROUP')) this.streams = [];
        this.discoveredAt = Number.NEGATIVE_INFINITY;
        await sleep(Math.min(20 * 2 ** failures, 500));
      }
    }
    connections.release(connection);
  }

  private whenWanted(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }

  private async read(connection: Redis): Promise<void> {
    if (performance.now() - this.lookedAt > lookMs) await this.takeOver(connection);
    const count = Math.max(1, Math.floor(this.wanted / this.streams.length));
    const raw = (await connection.callBuffer(
      'XREADGROUP',
      ...['GROUP', hintGroup, this.parts.process, 'COUNT', count, 'BLOCK', blockMs, 'STREAMS', ...this.streams],
      ...this.streams.map(() => '>'),
    )) as RawStreams;
    for (const [key, entries] of raw ?? []) this.deliver(key.toString(), entriesIn(entries));
  }

  private deliver(key: string, entries: readonly StreamEntry[]): void {
    for (const { id: entryId, values } of entries) {
      const name = `${key} ${entryId}`;
      if (this.open.has(name)) continue;
      let hint: AnyHint;
      try {
        hint = decodeRecord(values[0]!) as AnyHint;
      } catch (error) {
        this.parts.logger.error('a hint cannot be read and is dropped', { key, entryId, error });
        this.remove({ key, entryId });
        continue;
      }
      this.open.add(name);
      this.origins.set(hint, { key, entryId });
      this.wanted--;
      this.parts.onHint(hint);
    }
  }

  /** Finds the streams to read, and makes their groups where they are not there. */
  private async discover(): Promise<void> {
    const now = performance.now();
    if (now - this.discoveredAt < discoverMs) return;
    this.discoveredAt = now;
    const { outbox } = this.parts;
    const found = await this.wantedStreams();
    const fresh = found.filter((key) => !this.streams.includes(key));
    await Promise.all(
      fresh.map((key) =>
        outbox.command('XGROUP', 'CREATE', key, hintGroup, '0', 'MKSTREAM').catch((error) => {
          if (!String(error).includes('BUSYGROUP')) throw error;
        }),
      ),
    );
    this.streams = found;
  }

  private async wantedStreams(): Promise<string[]> {
    const { wanted, keys, outbox } = this.parts;
    const { flows, taskQueues } = wanted;
    if (taskQueues === 'calls') return flows.map((flow) => keys.calls(flow));
    if (taskQueues) return taskQueues.flatMap((queue) => flows.map((flow) => keys.steps(queueName(queue, flow))));
    const known = await outbox.command<string[]>('SMEMBERS', keys.queues);
    const named = (wanted.known ?? []).flatMap((queue) => flows.map((flow) => queueName(queue, flow)));
    const names = new Set([...named, ...known.filter((name) => flows.includes(queueParts(name).flow))]);
    return [...names].map((name) => keys.steps(name));
  }

  /** Takes over what workers that are gone have read, and strikes them off. */
  private async takeOver(connection: Redis): Promise<void> {
    this.lookedAt = performance.now();
    const { outbox, process } = this.parts;
    for (const key of this.streams) {
      const count = Math.max(1, this.wanted);
      const [, claimed] = (await connection.callBuffer(
        ...(['XAUTOCLAIM', key, hintGroup, process, unclaimedMs, '0', 'COUNT', count] as const),
      )) as [Buffer, [Buffer, Buffer[]][]];
      this.deliver(key, entriesIn(claimed));
      const readers = await outbox.command<(string | number)[][]>('XINFO', 'CONSUMERS', key, hintGroup);
      for (const reader of readers.map(recordOf)) {
        if (reader.pending !== 0 || Number(reader.idle) < goneMs || reader.name === process) continue;
        this.strikeOff(key, String(reader.name));
      }
    }
  }

  private strikeOff(key: string, reader: string): void {
    this.parts.outbox.attempt('EVAL', strikeOff, 1, key, hintGroup, reader);
  }
}

function recordOf(flat: readonly (string | number)[]): Record<string, string | number> {
  const record: Record<string, string | number> = {};
  for (let i = 0; i < flat.length; i += 2) record[String(flat[i])] = flat[i + 1]!;
  return record;
}
