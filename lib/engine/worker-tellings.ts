import type { AbortEffect, ResultTakenEffect } from '../core';
import type { Beat } from '../dispatch';
import type { HandedOut } from './handed-out';
import type { Outlet } from './outlet';
import type { WritePipeline } from './write-pipeline';

/** Tells workers what became of what they have in hand, and tells those again that have not heard of it. */
export class WorkerTellings {
  /** Tokens whose results have come; a window may hold them back before they are decided (R7). */
  private readonly undecided = new Set<string>();

  constructor(
    private readonly handedOut: HandedOut,
    private readonly pipeline: WritePipeline,
    private readonly outlet: Outlet,
  ) {}

  resultCame(token: string): void {
    this.undecided.add(token);
  }

  tell({ worker, ...message }: ResultTakenEffect | AbortEffect): void {
    if (message.kind === 'resultTaken') this.undecided.delete(message.token);
    // An owner that was replaced knows less, and finds out as it writes.
    this.pipeline.whenDurable(this.pipeline.gathering, () => this.outlet.post(worker, message));
  }

  /** A worker runs what is over for this owner: the message that told it so got lost (X4). */
  abortStrangers({ process: worker, tokens }: Beat): void {
    for (const token of tokens) {
      if (this.handedOut.has(token) || this.undecided.has(token)) continue;
      this.tell({ kind: 'abort', worker, token, reason: 'the attempt is over' });
    }
  }
}
