import { outboxOf, type Tell } from '../core';
import { shardOf } from '../values';
import type { Cell } from './cell';
import type { Cells } from './cells';
import type { Outlet } from './outlet';
import type { ShardOwnerParts } from './shard-owner';
import type { WritePipeline } from './write-pipeline';

/** What another flow has not answered is told again after this time. */
const repeatMs = 5_000;

/** Messages from flows of this shard to other flows: sent when they are durable, and again until they are answered. */
export class Tells {
  /** When each was last sent, by flow and key. */
  private readonly sentAt = new Map<string, Map<string, number>>();
  private isRepeating = false;

  constructor(
    private readonly cells: Cells,
    private readonly pipeline: WritePipeline,
    private readonly outlet: Outlet,
    private readonly owner: ShardOwnerParts,
  ) {}

  send(cell: Cell, tell: Tell): void {
    const { flowId } = cell.flow.head;
    const sent = this.sentAt.get(flowId) ?? new Map<string, number>();
    sent.set(tell.key, this.owner.clock.monotonic());
    this.sentAt.set(flowId, sent);
    this.pipeline.whenDurable(this.pipeline.gathering, () => this.post(tell));
    this.pipeline.hurry();
    this.repeatLater();
  }

  /** Sends everything a flow still has to tell, after a take-over. */
  takeUp(cell: Cell): void {
    for (const tell of outboxOf(cell.flow)) this.send(cell, tell);
  }

  private post({ flowId, command }: Tell): void {
    const { settings, logger } = this.owner;
    const shard = shardOf(flowId, settings.shards);
    this.outlet.send(shard, { kind: 'tell', flowId, command }).catch((error) => {
      logger.warn('a message to another flow could not be sent; it is repeated', { flowId, kind: command.kind, error });
    });
  }

  private repeatLater(): void {
    if (this.isRepeating) return;
    this.isRepeating = true;
    this.owner.clock.after(repeatMs, () => {
      this.isRepeating = false;
      this.repeat();
      if (this.sentAt.size > 0) this.repeatLater();
    });
  }

  private repeat(): void {
    const now = this.owner.clock.monotonic();
    for (const [flowId, sent] of this.sentAt) {
      const cell = this.cells.get(flowId);
      const open = cell ? outboxOf(cell.flow) : [];
      const keys = new Set(open.map(({ key }) => key));
      for (const key of sent.keys()) if (!keys.has(key)) sent.delete(key);
      for (const tell of open) {
        if (now - (sent.get(tell.key) ?? 0) < repeatMs) continue;
        sent.set(tell.key, now);
        this.pipeline.whenDurable(cell!.changedIn, () => this.post(tell));
      }
      if (sent.size === 0) this.sentAt.delete(flowId);
    }
  }
}
