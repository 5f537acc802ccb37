import type { Read } from '../dispatch';

/** Reads that wait for something to happen in a flow. */
export class Watchers {
  private readonly reads = new Map<string, Read[]>();

  add(read: Read): void {
    const reads = this.reads.get(read.flowId);
    if (reads) reads.push(read);
    else this.reads.set(read.flowId, [read]);
  }

  has(flowId: string): boolean {
    return this.reads.has(flowId);
  }

  flowIds(): string[] {
    return [...this.reads.keys()];
  }

  /** Takes out the reads of a flow; who cannot be answered yet is added again. */
  take(flowId: string): Read[] {
    const reads = this.reads.get(flowId) ?? [];
    this.reads.delete(flowId);
    return reads;
  }
}
