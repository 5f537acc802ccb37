import type { Event } from '../core';
import { type HistoryEvent, historyEvent } from './history-event';
import type { Requests, RunOptions } from './requests';

export interface HistoryOptions extends RunOptions {
  /** Number of the first event [1]. */
  readonly from?: number;
  /** How many at most [all]. */
  readonly limit?: number;
}

interface Page {
  readonly runId: string;
  readonly events: readonly (readonly [number: number, event: Event])[];
  readonly more: boolean;
}

const pageEvents = 1_000;

/** Reads page by page, all of the same run and under one deadline. */
export async function readHistory(
  requests: Requests,
  flowId: string,
  { from = 1, limit = Number.MAX_SAFE_INTEGER, ...run }: HistoryOptions,
): Promise<HistoryEvent[]> {
  const left = requests.timeLeft(run);
  const events: HistoryEvent[] = [];
  let { runId } = run;
  for (let next = from; events.length < limit; ) {
    const what = { kind: 'history', from: next, limit: Math.min(limit - events.length, pageEvents) } as const;
    const page = (await requests.read(flowId, what, { ...left(), ...(runId !== undefined && { runId }) })) as Page;
    runId = page.runId;
    for (const [number, event] of page.events) events.push(historyEvent(number, event));
    if (!page.more) break;
    next = events[events.length - 1]!.number + 1;
  }
  return events;
}
