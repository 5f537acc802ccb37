import type { RedisServer } from '../support/redis-server';
import type { SoakNode } from './soak-node';

export interface DisturbedCluster {
  readonly server: RedisServer;
  /** In each the first is paused at most; it lives to the end, so that its memory can be watched. */
  readonly engines: SoakNode[];
  readonly workers: SoakNode[];
  start(role: 'engine' | 'worker'): Promise<SoakNode>;
}

export interface Pace {
  readonly pauseMs: number;
  /** The shortest and longest time between two disturbances. */
  readonly everyMs: readonly [number, number];
}

const kinds = [
  ...(['kill engine', 'kill worker', 'pause engine', 'pause worker'] as const),
  ...(['stop engine', 'stop worker', 'flush Redis', 'kill Redis'] as const),
];
type Kind = (typeof kinds)[number];

/** Does to a cluster what happens to machines, one thing after the other, each kind as often as the others. */
export class Disturbances {
  readonly counts = new Map<Kind, number>();
  private readonly paused = new Set<SoakNode>();
  private isOver = false;
  private wake = () => {};

  constructor(
    private readonly cluster: DisturbedCluster,
    private readonly pace: Pace,
    private readonly random: () => number,
  ) {}

  async run(): Promise<void> {
    const [least, most] = this.pace.everyMs;
    for (let next: Kind[] = []; ; ) {
      await this.sleep(least + this.random() * (most - least));
      if (this.isOver) return;
      if (next.length === 0) next = this.shuffled();
      const kind = next.pop()!;
      this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
      await this.disturb(kind);
    }
  }

  /** Nothing new begins; everybody goes on. */
  end(): void {
    this.isOver = true;
    this.wake();
    for (const node of [...this.paused]) this.resume(node);
  }

  private async disturb(kind: Kind): Promise<void> {
    const { server, engines, workers } = this.cluster;
    if (kind === 'flush Redis') await server.redis.flushall();
    else if (kind === 'kill Redis') {
      await server.kill();
      await this.sleep(this.random() * 2_000);
      await server.run();
    } else {
      const [how, role] = kind.split(' ') as ['kill' | 'stop' | 'pause', 'engine' | 'worker'];
      const nodes = role === 'engine' ? engines : workers;
      if (how === 'pause') this.pause(nodes[this.random() < 0.5 ? 0 : 1]!);
      else await this.replace(nodes, how, role);
    }
  }

  private async replace(nodes: SoakNode[], how: 'kill' | 'stop', role: 'engine' | 'worker'): Promise<void> {
    const node = nodes[1]!;
    if (how === 'kill') await node.kill();
    else {
      this.resume(node);
      await node.stop();
    }
    this.paused.delete(node);
    nodes[1] = await this.cluster.start(role);
  }

  private pause(node: SoakNode): void {
    if (this.paused.has(node)) return;
    this.paused.add(node);
    node.pause();
    setTimeout(() => this.resume(node), this.pace.pauseMs).unref();
  }

  private resume(node: SoakNode): void {
    if (this.paused.delete(node)) node.resume();
  }

  private shuffled(): Kind[] {
    const left: Kind[] = [...kinds];
    return kinds.map(() => left.splice(Math.floor(this.random() * left.length), 1)[0]!);
  }

  private sleep(ms: number): Promise<void> {
    if (this.isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
