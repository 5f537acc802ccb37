import type { WriteBatch } from '../../lib/ports';
import type { ContractNode, NodeHooks, Writes } from './contract-node';
import type { StoreFaults } from './observed-store';
import type { SystemStore } from './stack';

/** The store of an engine in another process, which asks here before and after each write. */
export class WatchedStore implements SystemStore, NodeHooks {
  faults: StoreFaults = {};
  keepBatches = false;
  readonly batches: WriteBatch[] = [];
  writing = 0;
  /** Writes that have failed. */
  failed = 0;
  stats: Writes = { writes: 0, records: 0, bytes: 0 };

  constructor(private readonly engine: () => ContractNode | undefined) {}

  async count(prefix: string): Promise<number> {
    return (await this.engine()?.count(prefix)) ?? 0;
  }

  beforeWrite(batch: WriteBatch): void | Promise<void> {
    this.writing++;
    return this.faults.beforeWrite?.(batch);
  }

  async afterWrite(batch: WriteBatch, stats: Writes): Promise<void> {
    this.stats = stats;
    if (this.keepBatches) this.batches.push(batch);
    await this.faults.afterWrite?.(batch);
    this.writing--;
  }

  writeFailed(): void {
    this.failed++;
    this.writing--;
  }
}
