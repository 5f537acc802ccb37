import type { ContractNode } from './contract-node';
import { MovableClock } from './movable-clock';

/** The clock of several processes, moved from one of them. */
export class SharedClock extends MovableClock {
  constructor(private readonly nodes: () => readonly ContractNode[]) {
    super();
  }

  override move(ms: number): void {
    super.move(ms);
    for (const node of this.nodes()) node.moveSoon(ms);
  }

  override setWall(byMs: number): void {
    super.setWall(byMs);
    for (const node of this.nodes()) node.setWall(byMs);
  }

  /** Resolves when every process has done what became due and needs no message. */
  async moveAll(ms: number): Promise<void> {
    super.move(ms);
    await Promise.all(this.nodes().map((node) => node.move(ms)));
  }
}
