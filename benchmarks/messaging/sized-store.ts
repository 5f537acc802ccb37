import { prefixRange, type ShardStore, type StateStore } from '../../lib/ports';

export interface Sizes {
  /** Heads and rows of runs. */
  readonly liveBytes: number;
  /** Ids of requests, kept for a day to tell repeats (I1). */
  readonly idBytes: number;
  readonly historyBytes: number;
}

const livePrefixes = ['f/', 'r/', 't/'];

/** A store that can say what is in it. For one shard. */
export class SizedStore implements StateStore {
  private shard: ShardStore | undefined;

  constructor(private readonly inner: StateStore) {}

  get location(): string {
    return this.inner.location;
  }

  async open(shard: number): Promise<ShardStore> {
    this.shard = await this.inner.open(shard);
    return this.shard;
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  async sizes(): Promise<Sizes> {
    const live = await Promise.all(livePrefixes.map((prefix) => this.bytesOf(prefix)));
    return {
      liveBytes: live.reduce((sum, bytes) => sum + bytes, 0),
      idBytes: await this.bytesOf('i/'),
      historyBytes: await this.bytesOf('h/'),
    };
  }

  historyBytesOf(runId: string): Promise<number> {
    return this.bytesOf(`h/${runId}/`);
  }

  private async bytesOf(prefix: string): Promise<number> {
    let bytes = 0;
    for await (const [key, value] of this.shard!.scan(prefixRange(prefix))) bytes += key.length + value.length;
    return bytes;
  }
}
