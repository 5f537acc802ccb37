import type { Redis } from 'ioredis';
import type { Logger } from '../../ports';
import type { RedisConnections } from './redis-connections';
import { entriesIn, type RawStreams, type StreamEntry } from './stream-entry';

const blockMs = 1_000;
const entriesPerRead = 32;

interface Listening {
  position: string;
  paused: boolean;
  readonly onEntries: (entries: StreamEntry[]) => void;
}

/** Reads any number of streams on one connection, from the first entry that is still there, and never stops trying. */
export class StreamListener {
  private readonly streams = new Map<string, Listening>();
  private connection: Redis | undefined;
  private closed = false;
  private failures = 0;
  private resets = 0;

  constructor(
    private readonly connections: RedisConnections,
    private readonly logger: Logger,
  ) {}

  async open(): Promise<void> {
    this.connection = await this.connections.blocking();
    this.loop();
  }

  /** Reads a stream from its beginning. What is being waited for meanwhile does not know of it yet: see `RedisDispatch.poke`. */
  add(key: string, onEntries: (entries: StreamEntry[]) => void): void {
    this.streams.set(key, { position: '0-0', paused: false, onEntries });
  }

  remove(key: string): void {
    this.streams.delete(key);
  }

  pause(key: string, paused: boolean): void {
    const listening = this.streams.get(key);
    if (listening) listening.paused = paused;
  }

  /** Data was lost, ids may have begun anew: reads everything again that is there. */
  reset(): void {
    this.resets++;
    for (const listening of this.streams.values()) listening.position = '0-0';
  }

  /** Nobody hears anything on this connection. */
  renew(): void {
    if (this.connection) this.connections.renew(this.connection);
  }

  close(): void {
    this.closed = true;
    if (this.connection) this.connections.release(this.connection);
  }

  private async loop(): Promise<void> {
    while (!this.closed) {
      try {
        const streams = [...this.streams].filter(([, { paused }]) => !paused);
        if (streams.length === 0) await sleep(50);
        else {
          const { resets } = this;
          this.deliver(await this.read(streams), resets);
        }
        this.failures = 0;
      } catch (error) {
        if (this.closed) return;
        this.failures++;
        this.connections.failed(this.connection!, error);
        this.logger.debug('a read from Redis failed and is tried again', { error });
        await sleep(Math.min(20 * 2 ** this.failures, 500));
      }
    }
  }

  private read(streams: readonly (readonly [string, Listening])[]): Promise<RawStreams> {
    const keys = streams.map(([key]) => key);
    const positions = streams.map(([, { position }]) => position);
    return this.connection!.callBuffer(
      'XREAD',
      ...['COUNT', entriesPerRead, 'BLOCK', blockMs, 'STREAMS', ...keys, ...positions],
    ) as Promise<RawStreams>;
  }

  private deliver(raw: RawStreams, resets: number): void {
    for (const [key, entries] of raw ?? []) {
      const listening = this.streams.get(key.toString());
      if (!listening || entries.length === 0) continue;
      if (resets === this.resets) listening.position = entries.at(-1)![0].toString();
      try {
        listening.onEntries(entriesIn(entries));
      } catch (error) {
        this.logger.error('what came from Redis could not be taken', { key: key.toString(), error });
      }
    }
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
