import { HoldfastError } from '../../errors';
import type { LeasePart, Leases, LeasesView } from '../../ports';
import type { SimProcess } from './sim-process';
import type { Switchboard } from './switchboard';

/** Who should own which shard, as all engines see it. As mortal as the network it lies in. */
export class LeaseTable {
  readonly leases = new Map<number, { readonly holder: string; readonly until: number }>();
  /** Until when each engine counts as alive. */
  readonly engines = new Map<string, number>();
  readonly listeners = new Map<SimProcess, () => void>();

  empty(): void {
    this.leases.clear();
    this.engines.clear();
  }
}

/** One engine's way to the leases: as the adapter of the network, every round is one step. */
export class SimLeases implements Leases {
  constructor(
    private readonly table: LeaseTable,
    private readonly board: Switchboard,
    private readonly process: SimProcess,
  ) {}

  tend(engine: string, shards: number, leaseMs: number, part: LeasePart): Promise<LeasesView> {
    return this.ask((now) => {
      const { engines, leases } = this.table;
      for (const [other, until] of engines) if (until <= now || other === engine) engines.delete(other);
      const leaving = part === 'leaves' || (part === 'stepped back' && engines.size > 0);
      if (!leaving) engines.set(engine, now + leaseMs);
      for (const [shard, { until }] of leases) if (until <= now) leases.delete(shard);
      const most = leaving ? 0 : Math.ceil(shards / engines.size);
      const held = [...leases].filter(([, { holder }]) => holder === engine).map(([shard]) => shard);
      for (let shard = 0; shard < shards && held.length < most; shard++) if (!leases.has(shard)) held.push(shard);
      for (const shard of held) leases.set(shard, { holder: engine, until: now + leaseMs });
      if (leaving) return { held, excess: 0 };
      const counts = [...engines.keys()].map(
        (each) => [...leases.values()].filter(({ holder }) => holder === each).length,
      );
      return { held, excess: held.length - Math.min(...counts) >= 2 ? 1 : 0 };
    });
  }

  release(engine: string, shards: readonly number[]): Promise<void> {
    return this.ask(() => {
      for (const shard of shards) if (this.table.leases.get(shard)?.holder === engine) this.table.leases.delete(shard);
      this.tellOthers();
    });
  }

  leave(engine: string): Promise<void> {
    return this.ask(() => {
      this.table.engines.delete(engine);
      this.tellOthers();
    });
  }

  onReleased(look: () => void): () => void {
    this.table.listeners.set(this.process, look);
    return () => void this.table.listeners.delete(this.process);
  }

  private tellOthers(): void {
    for (const [process, look] of this.table.listeners) if (process !== this.process) process.later(1, look);
  }

  private ask<T>(act: (now: number) => T): Promise<T> {
    const { process, board } = this;
    return new Promise((resolve, reject) => {
      process.act(() => {
        if (board.refuses(process)) {
          process.later(1, () => reject(new HoldfastError('OVERLOADED', 'The simulated dispatch is down.')));
          return;
        }
        const answer = act(process.parts.timeline.now);
        process.later(1, () => resolve(answer));
      });
    });
  }
}
