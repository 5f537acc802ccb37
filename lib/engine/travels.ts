import { type Command, type Event, isOfClients, type TimeTravelRequest } from '../core';
import type { ShardStore } from '../ports';
import type { Cells } from './cells';
import { PastReader } from './past-reader';
import type { WritePipeline } from './write-pipeline';

type OnAnswer = (answer: unknown) => void;

export interface TravelParts {
  readonly store: ShardStore;
  readonly cells: Cells;
  readonly pipeline: WritePipeline;
  /** Decides a command in the running turn, or commands in one of their own. */
  run(flowId: string, command: Command, onAnswer: OnAnswer): void;
  later(commands: readonly (readonly [flowId: string, command: Command, onAnswer: OnAnswer])[]): void;
}

/**
 * Requests to go back in time: what they need of the history is read first, while the flow goes on; what happens meanwhile is
 * noted, so that nothing which a client has sent is missed (K4).
 */
export class Travels {
  /** Who waits for the answer, by flow and request. */
  private readonly reading = new Map<string, OnAnswer[]>();

  constructor(private readonly parts: TravelParts) {}

  /** Its flow is in memory. */
  take(flowId: string, request: TimeTravelRequest, onAnswer: OnAnswer): void {
    const { cells, pipeline } = this.parts;
    const cell = cells.get(flowId)!;
    const { run, ids } = cell.flow;
    if (!run || ids.has(request.requestId)) return this.parts.run(flowId, { ...request, past: null }, onAnswer);
    const key = `${flowId}\u0000${request.requestId}\u0000${request.digest}`;
    const waiting = this.reading.get(key);
    if (waiting) {
      waiting.push(onAnswer);
      return;
    }
    const answers = [onAnswer];
    this.reading.set(key, answers);
    const { head } = run;
    /** What clients send from now on. */
    let since: Event[] = [];
    const tap = (event: Event) => {
      if (isOfClients(event)) since.push(event);
    };
    cell.taps.add(tap);
    const answer = (value: unknown) => {
      cell.taps.delete(tap);
      this.reading.delete(key);
      for (const each of answers) each(value);
    };
    pipeline.whenDurable(cell.changedIn, () => {
      new PastReader(this.parts.store, flowId, head).read(request).then(
        ({ source, at, later, toLatest }) => {
          if (toLatest) {
            // What comes until the command is decided goes there, too.
            later.push(...since);
            since = later;
          }
          const past = { source, at, later, chainId: head.chainId };
          const decidedBy = source.head.flow === head.flow ? head.plan : source.head.plan;
          this.parts.later([[flowId, { ...request, plan: decidedBy, past }, answer]]);
        },
        (error) => answer(error),
      );
    });
    pipeline.hurry();
  }
}
