import { setTimeout as pause } from 'node:timers/promises';
import type { TestCluster, TestNode } from '../support/cluster';
import { eventually } from '../support/eventually';
import { heartbeatMs } from './flows';
import type { Outside } from './outside';

export const faults = [
  'a worker killed',
  'a worker paused beyond its heartbeat',
  'a worker paused for less than its heartbeat',
  'an engine killed between hand-out and result',
  'engine and worker killed at once',
] as const;

/** What was done to whom in a round. */
export interface Damage {
  readonly fault: (typeof faults)[number];
  readonly afterMs: number;
  /** The worker that died or stood still. */
  readonly victim?: number;
  readonly killed: boolean;
  readonly enginesLost: number;
  /** Times that a shard was opened anew, also by an owner that had no time and lost its lease. */
  readonly reopened?: number;
  readonly stoppedAt?: number;
  readonly resumedAt?: number;
}

/** Whether a worker was silent for longer than its Steps allow. */
export function losesWorker({ fault }: Damage): boolean {
  return (
    fault !== 'a worker paused for less than its heartbeat' && fault !== 'an engine killed between hand-out and result'
  );
}

/** As above, and where a machine without time made a short pause a long one: a beat may be a third of its time old. */
export function mayLoseWorker(damage: Damage): boolean {
  const { stoppedAt = 0, resumedAt = 0 } = damage;
  return losesWorker(damage) || resumedAt - stoppedAt >= (heartbeatMs * 2) / 3;
}

/** Two engines and two workers, of which some come to grief and are replaced. */
export class Machines {
  private constructor(
    private readonly cluster: TestCluster,
    private readonly outside: Outside,
    private readonly random: () => number,
    private readonly engines: TestNode[],
    /** The first also serves the rare task queue. */
    private readonly workers: TestNode[],
  ) {}

  static async start(cluster: TestCluster, outside: Outside, random: () => number): Promise<Machines> {
    const engines = await Promise.all([cluster.engine(), cluster.engine()]);
    const workers = await Promise.all([worker(cluster, 0), worker(cluster, 1)]);
    return new Machines(cluster, outside, random, engines, workers);
  }

  /** Does it to one at random, and repairs it. */
  async suffer(fault: Damage['fault'], afterMs: number): Promise<Damage> {
    const w = this.random() < 0.5 ? 0 : 1;
    const e = this.random() < 0.5 ? 0 : 1;
    const repairMs = this.random() * 1_000;
    const pauseMs = heartbeatMs * (fault === faults[1] ? 2 + this.random() * 0.4 : 0.1 + this.random() * 0.15);
    await pause(afterMs);
    const victim = this.workers[w]!.pid;
    await this.bodyRuns(fault === 'an engine killed between hand-out and result' ? undefined : victim);
    switch (fault) {
      case 'a worker killed':
        await this.killWorker(w, repairMs);
        return { fault, afterMs, victim, killed: true, enginesLost: 0 };
      case 'a worker paused beyond its heartbeat':
      case 'a worker paused for less than its heartbeat': {
        this.workers[w]!.signal('SIGSTOP');
        const stoppedAt = Date.now();
        await pause(pauseMs);
        const resumedAt = Date.now();
        this.workers[w]!.signal('SIGCONT');
        return { fault, afterMs, victim, killed: false, enginesLost: 0, stoppedAt, resumedAt };
      }
      case 'an engine killed between hand-out and result':
        await this.killEngine(e, repairMs);
        return { fault, afterMs, killed: true, enginesLost: 1 };
      case 'engine and worker killed at once':
        await Promise.all([this.killEngine(e, repairMs), this.killWorker(w, repairMs)]);
        return { fault, afterMs, victim, killed: true, enginesLost: 1 };
    }
  }

  /** Resolves when a body runs, or when it seems that none will. */
  private async bodyRuns(pid?: number): Promise<void> {
    await eventually(() => this.outside.open(pid).length > 0, 2_000).catch(() => {});
  }

  private async killWorker(w: number, repairMs: number): Promise<void> {
    await this.workers[w]!.kill();
    await pause(repairMs);
    this.workers[w] = await worker(this.cluster, w);
  }

  private async killEngine(e: number, repairMs: number): Promise<void> {
    await this.engines[e]!.kill();
    await pause(repairMs);
    this.engines[e] = await this.cluster.engine();
  }
}

function worker(cluster: TestCluster, w: number): Promise<TestNode> {
  return cluster.worker({ slots: 30, ...(w === 1 && { taskQueues: ['default'] }) });
}
