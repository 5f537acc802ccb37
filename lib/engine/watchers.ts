import type { Read } from '../dispatch';
import type { Clock } from '../ports';

/** A client repeats what is not answered; one that has not done so for this long is gone. */
const forgottenMs = 60_000;

/** Reads that wait for something to happen in a flow. */
export class Watchers {
  private readonly reads = new Map<string, Map<string, Read>>();
  private readonly heardAt = new WeakMap<Read, number>();

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /** A repeat takes the place of the one before. */
  add(read: Read): void {
    let reads = this.reads.get(read.flowId);
    if (!reads) {
      reads = new Map();
      this.reads.set(read.flowId, reads);
    }
    reads.set(`${read.replyTo}/${read.id}`, read);
    if (!this.heardAt.has(read)) this.heardAt.set(read, this.clock.monotonic());
  }

  has(flowId: string): boolean {
    return this.reads.has(flowId);
  }

  flowIds(): string[] {
    return [...this.reads.keys()];
  }

  /** Takes out the reads of a flow; who cannot be answered yet is added again. */
  take(flowId: string): Read[] {
    const reads = [...(this.reads.get(flowId)?.values() ?? [])];
    this.reads.delete(flowId);
    const oldest = this.clock.monotonic() - forgottenMs;
    return reads.filter((read) => this.heardAt.get(read)! >= oldest);
  }
}
