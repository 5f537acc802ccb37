import { randomUUID } from 'node:crypto';
import type { Logger } from '../../ports';
import type { Outbox } from './outbox';
import type { RedisKeys } from './redis-keys';
import type { StreamEntry } from './stream-entry';
import { sleep } from './stream-listener';

const beatMs = 1_000;
/** A process that has not heard itself for this long cannot be told anything. */
const deafMs = 3_500;
const pokeMs = 60_000;
/** Beats between two looks at which server it is. */
const beatsPerLook = 5;

export interface PulseHooks {
  /** Redis lost data, wholly or the last of it. */
  lost(): void;
  /** Nothing that is sent comes back. */
  deaf(): void;
  /** From time to time: connections whose commands never fail are to be tried. */
  prove(): void;
  /** Somebody asks this process to look whether shards are free. */
  look(): void;
}

/**
 * Proves again and again that this process hears what is sent to it, not merely that it is connected: its own message must
 * come back. Notices when Redis lost data: another incarnation, another server, or another line of replication.
 */
export class Pulse {
  private heardAt = performance.now();
  private incarnation: string | undefined;
  private server: string | undefined;
  private beats = 0;
  private isDeaf = false;
  private closed = false;

  constructor(
    private readonly process: string,
    private readonly keys: RedisKeys,
    private readonly outbox: Outbox,
    private readonly logger: Logger,
    private readonly hooks: PulseHooks,
  ) {}

  /** False while what is sent to this process does not arrive. */
  get isHeard(): boolean {
    return performance.now() - this.heardAt < deafMs;
  }

  async open(): Promise<void> {
    await this.beat();
    this.loop();
  }

  hear(entries: readonly StreamEntry[]): void {
    this.heardAt = performance.now();
    if (this.isDeaf) this.logger.info('Redis is heard again');
    this.isDeaf = false;
    if (entries.some(({ values }) => values[0]?.toString() === 'look')) this.hooks.look();
  }

  /** Makes this process's blocking read return, so that it takes notice of what has changed. */
  poke(): void {
    this.outbox.attempt('XADD', this.keys.poke(this.process), 'MAXLEN', '4', '*', 'p', 'poke');
  }

  close(): void {
    this.closed = true;
    this.outbox.attempt('DEL', this.keys.poke(this.process));
  }

  private async loop(): Promise<void> {
    while (!this.closed) {
      await sleep(beatMs);
      if (this.closed) return;
      await this.beat().catch((error) => this.logger.debug('Redis could not be looked at', { error }));
      if (!this.isHeard) {
        if (!this.isDeaf) this.logger.warn('nothing is heard from Redis; the connections are renewed');
        this.isDeaf = true;
        this.hooks.deaf();
      }
    }
  }

  private async beat(): Promise<void> {
    this.poke();
    this.outbox.attempt('PEXPIRE', this.keys.poke(this.process), pokeMs);
    const look = this.beats++ % beatsPerLook === 0;
    if (look) this.hooks.prove();
    const [incarnation, server, replication] = await Promise.all([
      this.outbox.command<string | null>('GET', this.keys.incarnation),
      look ? this.outbox.command<string>('INFO', 'server') : undefined,
      look ? this.outbox.command<string>('INFO', 'replication') : undefined,
    ]);
    const which = look ? `${fieldOf(server!, 'run_id')} ${fieldOf(replication!, 'master_replid')}` : this.server;
    const known = this.incarnation;
    this.incarnation = incarnation ?? (await this.begin());
    if ((known !== undefined && known !== this.incarnation) || (this.server !== undefined && this.server !== which)) {
      this.logger.warn('Redis lost data, or may have: everything is offered and read again');
      this.hooks.lost();
    }
    this.server = which;
  }

  private async begin(): Promise<string> {
    await this.outbox.command('SET', this.keys.incarnation, randomUUID(), 'NX');
    return (await this.outbox.command<string | null>('GET', this.keys.incarnation)) ?? '';
  }
}

export function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
