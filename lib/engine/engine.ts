import type { HoldfastDispatch } from '../dispatch';
import { HoldfastError } from '../errors';
import type { Clock, FlowIndex, Leases, Logger, StateStore, Telemetry } from '../ports';
import { CallTakers } from './call-takers';
import type { IndexState } from './index-feed';
import { QueueLimits } from './queue-limits';
import { type QueueState, queueStates } from './queue-state';
import { Refusals } from './refusals';
import { defaultSettings, type EngineSettings } from './settings';
import { ShardOwner } from './shard-owner';
import { ShardSharing } from './shard-sharing';
import { WorkerRegistry } from './worker-registry';

export interface EngineParts {
  readonly store: StateStore;
  readonly dispatch: HoldfastDispatch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry?: Telemetry | undefined;
  readonly settings?: Partial<EngineSettings>;
  /** Where runs are searched for; fed with the changes of its shards. */
  readonly index?: FlowIndex | undefined;
  /** Another process took a shard of this engine over. */
  readonly onFenced?: (error: HoldfastError) => void;
  /** Shards are shared with other engines; without it this one owns all. */
  readonly sharing?: {
    /** Names this engine; new for each. */
    readonly engine: string;
    readonly leases: Leases;
    readonly leaseMs: number;
    /** By which leases count [the engine's]. */
    readonly clock?: Clock;
  };
}

/** How long a shard may be impossible to open again before others may have it: leases. */
const hopelessLeases = 1.5;

/** Owns shards: decides what the Flows do, keeps their state, and hands tasks out. Runs no user code. */
export class Engine {
  private readonly owners: ShardOwner[];
  private readonly sharing: ShardSharing | undefined;
  private readonly limits: QueueLimits;

  constructor(parts: EngineParts) {
    const settings = { ...defaultSettings, ...parts.settings };
    const workers = new WorkerRegistry();
    const callTakers = new CallTakers();
    const limits = new QueueLimits(settings.taskQueues, parts.clock);
    this.limits = limits;
    this.owners = Array.from({ length: settings.shards }, (_, shard) => {
      const lease = { isValid: () => this.sharing?.isValid(shard) ?? true };
      const onFenced = (error: HoldfastError) => {
        this.sharing?.fenced(shard);
        parts.onFenced?.(error);
      };
      const hopeless = parts.sharing && {
        afterMs: hopelessLeases * parts.sharing.leaseMs,
        tell: () => this.sharing!.hopeless(shard),
      };
      const refusals = new Refusals();
      const own = { workers, callTakers, limits, refusals, lease, onFenced, hopeless };
      return new ShardOwner({ ...parts, ...own, shard, settings });
    });
    if (parts.sharing) this.sharing = new ShardSharing({ ...parts, ...parts.sharing }, this.owners);
  }

  /** Opens every shard and goes on with what is stored. Throws what the store throws, e.g. `STORE_IN_USE`. */
  async open(): Promise<void> {
    if (this.sharing) return this.sharing.start();
    const opened = await Promise.allSettled(this.owners.map((owner) => owner.open()));
    const failed = opened.find((result) => result.status === 'rejected');
    if (!failed) return;
    await this.close();
    throw failed.reason;
  }

  /** Writes what has gathered and lets the shards go. Idempotent. */
  async close(): Promise<void> {
    if (this.sharing) await this.sharing.stop();
    else await Promise.all(this.owners.map((owner) => owner.close()));
    this.limits.close();
  }

  /** Shards that are open here now. */
  get shards(): readonly number[] {
    return this.sharing ? this.sharing.shards : this.owners.map((_, shard) => shard);
  }

  /** What waits and runs on each task queue, in the shards that are open here (T3). */
  get queues(): readonly QueueState[] {
    return queueStates(
      this.owners.flatMap((owner) => owner.queues),
      this.limits,
    );
  }

  /** How far the index is behind, by shard; empty without one. */
  get index(): readonly IndexState[] {
    return this.owners.flatMap((owner) => owner.indexState ?? []);
  }

  /** Writes, records and bytes since the shards were opened. */
  get stats(): { readonly writes: number; readonly records: number; readonly bytes: number } {
    const sum = { writes: 0, records: 0, bytes: 0 };
    for (const { stats } of this.owners) {
      sum.writes += stats.writes;
      sum.records += stats.records;
      sum.bytes += stats.bytes;
    }
    return sum;
  }
}
