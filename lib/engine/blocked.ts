import { HoldfastError } from '../errors';
import type { Logger } from '../ports';

/** Flows that cannot be read or decided. They are parked, and the others of their shard go on (P10). */
export class Blocked {
  private readonly errors = new Map<string, HoldfastError>();
  private readonly doubted = new Set<string>();

  constructor(private readonly logger: Logger) {}

  get(flowId: string): HoldfastError | undefined {
    return this.errors.get(flowId);
  }

  has(flowId: string): boolean {
    return this.errors.has(flowId);
  }

  get isAny(): boolean {
    return this.errors.size > 0;
  }

  /** How many could not be read or decided at least once. */
  get doubts(): number {
    return this.doubted.size;
  }

  /** Their flowIds. */
  get flowIds(): Iterable<string> {
    return this.errors.keys();
  }

  /**
   * A flow could not be read or decided. The first time the cause is thrown: what is in memory, or was read while another owner
   * wrote, may be to blame, and a session that reads its records anew has another look. Then the flow is parked.
   */
  met(flowId: string, cause: unknown): void {
    if (!this.doubted.has(flowId)) {
      this.logger.warn('a flow could not be read or decided, and is read again', { flowId, error: cause });
      this.doubted.add(flowId);
      throw cause;
    }
    this.logger.error('a flow is blocked: it cannot be read or decided', { flowId, error: cause });
    const what = cause instanceof Error ? cause.message : String(cause);
    const message = `The Flow ${JSON.stringify(flowId)} is blocked: ${what}`;
    this.errors.set(flowId, new HoldfastError('CORRUPT_RECORD', message, { where: flowId, cause }));
  }

  clear(): void {
    this.errors.clear();
    this.doubted.clear();
  }
}
