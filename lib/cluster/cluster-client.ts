import type { FlowClass } from '../authoring';
import { Client } from '../client';
import { compile } from '../compiler';
import { type ClusterOptions, type Connected, connect, type SearchOptions } from './connect';

export interface ClientOptions extends Omit<ClusterOptions, 'signals'>, SearchOptions {
  /** Every Flow this process starts or asks about. */
  readonly flows: readonly FlowClass[];
}

/** A client with its own connection. */
export class ClusterClient {
  private constructor(
    readonly client: Client,
    private readonly connected: Connected,
  ) {}

  static async open(options: ClientOptions): Promise<ClusterClient> {
    const compiled = compile(options.flows);
    const connected = await connect(options);
    const client = new Client({ ...connected, compiled });
    try {
      await client.open();
      return new ClusterClient(client, connected);
    } catch (error) {
      connected.dispatch.close();
      throw error;
    }
  }

  /** Whether it hears what is sent to it; red while Redis is away. */
  get isHealthy(): boolean {
    return this.connected.dispatch.isHeard;
  }

  /** Rejects what is still waiting with `CLOSED`. Idempotent. */
  close(): void {
    this.client.close();
    this.connected.dispatch.close();
    this.connected.index?.close().catch(() => {});
  }
}

/** Opens a client. Throws `CompileError`, `REDIS_UNAVAILABLE`, `REDIS_UNSUITABLE`, `INVALID_ARGUMENT`, `STORE_LAYOUT`, `INDEX_URL`. */
export function openClient(options: ClientOptions): Promise<ClusterClient> {
  return ClusterClient.open(options);
}
