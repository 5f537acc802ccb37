import {
  apply,
  begin,
  type Event,
  isOfClients,
  type Past,
  type RunHead,
  type TimeTravelled,
  type TimeTravelRequest,
} from '../core';
import { HoldfastError } from '../errors';
import type { ShardStore } from '../ports';
import { keys } from '../store/keys';
import { RunRecord } from './run-record';
import { readCopy } from './state-copy';
import { storedEvents } from './stored-events';

/** Part of the history of a run, up to an event. */
interface Stretch {
  readonly head: RunHead;
  readonly upTo: number;
}

/**
 * Makes a moment that is past from the stored history, and what clients have sent since then in that run and those that go on
 * from it. `toLatest` says whether the latest run is one of them.
 */
export class PastReader {
  constructor(
    private readonly store: ShardStore,
    private readonly flowId: string,
    /** The latest run when all that it says of events was durable; what happens later is told by its owner. */
    private readonly latest: RunHead,
  ) {}

  async read({
    runId,
    to,
    reapply,
  }: TimeTravelRequest): Promise<Omit<Past, 'chainId'> & { later: Event[]; toLatest: boolean }> {
    const head = await this.headOf(runId ?? this.latest.runId);
    const path: Stretch[] = [{ head, upTo: head.events }];
    let point = await this.pointIn(path[0]!, to);
    // A Step is looked for in all that led to the latest run.
    while (point === undefined && runId === null) {
      path.unshift(await this.before(path[0]!.head, to));
      point = await this.pointIn(path[0]!, to);
    }
    if (point === undefined) throw this.neverHandedOut(to);
    const { run: source, at } = await this.stateAt(path[0]!.head, point);
    const later: Event[] = [];
    if (reapply && runId === null) await this.collectAlong(path, point, later);
    const toLatest = reapply && (runId === null || (await this.collectAfter(head, point, later)));
    return { source, at, later, toLatest };
  }

  /** What the run went on from: another run of its chain, or the past that a time travel went to. */
  private async before(head: RunHead, to: TimeTravelRequest['to']): Promise<Stretch> {
    for await (const [number, event] of this.events(head, head.base + 1)) {
      if (number !== head.base + 1) break;
      if (event.kind === 'FlowStarted') throw this.neverHandedOut(to);
      const from = event.kind === 'RunContinued' ? event.previousRunId : (event as TimeTravelled).fromRunId;
      // Numbers of events go on from there.
      return { head: await this.headOf(from), upTo: head.base };
    }
    throw this.gone(head);
  }

  private neverHandedOut(to: TimeTravelRequest['to']): HoldfastError {
    const what = to.kind === 'step' ? `${to.execution}.${to.method}` : to.kind;
    return new HoldfastError('STEP_NOT_FOUND', `${what} was never handed out in ${JSON.stringify(this.flowId)}.`, {
      where: this.flowId,
    });
  }

  private async headOf(runId: string): Promise<RunHead> {
    if (runId === this.latest.runId) return this.latest;
    const head = await RunRecord.loadHead(this.store, runId);
    if (head?.flowId === this.flowId) return head;
    throw new HoldfastError('HISTORY_GONE', `The run ${runId} of ${JSON.stringify(this.flowId)} is not kept.`, {
      where: this.flowId,
    });
  }

  /** The number of the last event before the moment; undefined where the run never came to it. */
  private async pointIn({ head, upTo }: Stretch, to: TimeTravelRequest['to']): Promise<number | undefined> {
    if (to.kind === 'beginning') return this.beginningOf(head);
    if (to.kind === 'event') {
      const event = head.base + to.event;
      if (to.event >= 1 && event <= upTo) return event;
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        `The history of ${JSON.stringify(this.flowId)} has the events 1 to ${upTo - head.base}, and no ${to.event}.`,
        { where: this.flowId },
      );
    }
    for await (const [number, event] of this.events(head, head.base + 1)) {
      if (number > upTo) break;
      if (event.kind !== 'AttemptStarted' || event.execution !== to.execution || event.method !== to.method) continue;
      return number - 1;
    }
    return undefined;
  }

  /** The moment at which nothing but the start has happened; for a run that goes on from another, its first copy. */
  private async beginningOf(head: RunHead): Promise<number> {
    const first: Event[] = [];
    for await (const [number, event] of this.events(head, head.base + 1)) {
      if (number !== head.base + first.length + 1) throw this.gone(head);
      first.push(event);
      if (first.length === 2) break;
    }
    if (first.length === 0) throw this.gone(head);
    if (first[0]!.kind === 'FlowStarted') {
      const [, second] = first;
      return head.base + (second?.kind === 'StepScheduled' && second.from.kind === 'start' ? 2 : 1);
    }
    for await (const [key] of this.store.scan({ ...keys.copiesOf(head.runId), limit: 1 })) return keys.eventOfCopy(key);
    throw this.gone(head);
  }

  private async stateAt(head: RunHead, point: number): Promise<Pick<Past, 'at'> & { run: Past['source'] }> {
    let copied: number | undefined;
    for await (const [key] of this.store.scan(keys.copiesOf(head.runId))) {
      const event = keys.eventOfCopy(key);
      if (event <= point) copied = event;
    }
    let state = copied === undefined ? undefined : await readCopy(this.store, head.runId, copied);
    let next = state ? copied! + 1 : head.base + 1;
    for await (const [number, event] of this.events(head, next)) {
      if (number > point) break;
      if (number !== next) throw this.gone(head);
      if (state) apply(state.run, event);
      else if (event.kind !== 'FlowStarted') throw this.gone(head);
      state = { run: state?.run ?? begin(event as never), at: event.at };
      next++;
    }
    if (!state || next !== point + 1) throw this.gone(head);
    return state;
  }

  /** Collects what clients have sent after the moment in the stretches that led to the latest run. */
  private async collectAlong([first, ...rest]: readonly Stretch[], point: number, later: Event[]): Promise<void> {
    await this.collect(first!, point + 1, later, false);
    for (const stretch of rest) await this.collect(stretch, stretch.head.base + 1, later, false);
  }

  /**
   * Collects what clients have sent after the moment to that run and those that went on from it; true if the latest is one of
   * them. What a time travel has applied again is in the history before it.
   */
  private async collectAfter(head: RunHead, point: number, later: Event[]): Promise<boolean> {
    await this.collect({ head, upTo: head.events }, point + 1, later, false);
    let { runId, nextRunId } = head;
    while (nextRunId !== null && runId !== this.latest.runId) {
      const next = await this.headOf(nextRunId);
      await this.collect({ head: next, upTo: next.events }, next.base + 1, later, true);
      ({ runId, nextRunId } = next);
    }
    return runId === this.latest.runId;
  }

  private async collect({ head, upTo }: Stretch, from: number, later: Event[], skipAgain: boolean): Promise<void> {
    const skipped = new Set<string>();
    let next = from;
    for await (const [number, event] of this.events(head, from)) {
      if (number > upTo) break;
      if (number !== next++) throw this.gone(head);
      if (!isOfClients(event)) continue;
      if (skipAgain && 'again' in event && event.again) {
        if (event.kind === 'RpcCompleted') skipped.add(event.requestId);
      } else if (event.kind !== 'StepScheduled' || event.from.kind !== 'rpc' || !skipped.has(event.from.requestId)) {
        later.push(event);
      }
    }
    if (next !== upTo + 1) throw this.gone(head);
  }

  private async *events(head: RunHead, from: number): AsyncGenerator<readonly [number: number, event: Event]> {
    for await (const each of storedEvents(this.store, head.runId, from)) {
      if (each[0] > head.events) return;
      yield each;
    }
  }

  private gone({ runId }: RunHead): HoldfastError {
    return new HoldfastError(
      'HISTORY_GONE',
      `The history of run ${runId} of ${JSON.stringify(this.flowId)} no longer reaches back to that moment.`,
      { where: this.flowId },
    );
  }
}
