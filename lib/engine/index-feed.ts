import type { IndexAsk } from '../dispatch';
import { HoldfastError } from '../errors';
import type { Cancel, Feeder, FlowIndex, IndexedRun, ShardStore } from '../ports';
import { keys } from '../store/keys';
import { Backlog } from './backlog';
import type { Cell } from './cell';
import { IndexRebuild } from './index-rebuild';
import { captureRun, indexedRun, isShown, readRunToTell, type Told } from './indexed-run';
import type { Outlet } from './outlet';
import type { Plans } from './plans';
import type { ShardOwnerParts } from './shard-owner';
import { ShownBlocked } from './shown-blocked';
import type { WritePipeline } from './write-pipeline';

/** How far the index of a shard is behind. */
export interface IndexState {
  readonly shard: number;
  /** Adapter and place. */
  readonly index: string;
  /** Runs that have changed and are not in the index yet; at most those in memory are counted. */
  readonly pending: number;
  /** For how long the oldest of them has waited. */
  readonly lagMs: number;
  /** All runs of the shard are being written anew. */
  readonly rebuilding: boolean;
  /** Why the index takes nothing at the moment. */
  readonly failing: string | null;
}

export interface IndexFeedParts {
  readonly owner: Pick<ShardOwnerParts, 'shard' | 'clock' | 'logger'>;
  readonly index: FlowIndex;
  readonly store: ShardStore;
  readonly plans: Plans;
  readonly pipeline: WritePipeline;
  readonly outlet: Pick<Outlet, 'mayTell'>;
  /** What does not go on, by flowId, with the reasons. */
  blocked(): ReadonlyMap<string, readonly string[]>;
}

const runsPerWrite = 200;
/** A write may block the process, so it is not made larger than this. */
const termsPerWrite = 2_000;
/** Between two writes to the index, so that what changes often is written once. */
const pauseMs = 50;
const retryMs = 500;
const longestRetryMs = 30_000;
const blockedEveryMs = 5_000;
/** How long the closing of a shard waits for the index. */
const closeMs = 1_000;

/**
 * Tells the index what has changed in the runs of a shard, after it is durable (P4) and while the owner may (P5). Nothing
 * waits for the index: what it has not taken is marked in the store and found again.
 */
export class IndexFeed {
  private readonly backlog = new Backlog<Told>({ mark: keys.unindexed, marks: keys.allUnindexed }, () =>
    this.parts.owner.clock.now(),
  );
  private readonly blocked = new ShownBlocked();
  private batch = 0;
  private isTakenOver = false;
  private isWorking = false;
  private cancelNext: Cancel | undefined;
  private cancelBlocked: Cancel | undefined;
  private failing: HoldfastError | undefined;
  private failures = 0;
  private failuresInRow = 0;
  private isOver = false;
  private removing: string[] = [];
  private waiters: (() => boolean)[] = [];

  private rebuild!: IndexRebuild;

  constructor(private readonly parts: IndexFeedParts) {}

  /** Before anything is written. */
  async open(): Promise<void> {
    const { store, pipeline } = this.parts;
    this.rebuild = await IndexRebuild.load(store, pipeline);
    this.lookForBlocked();
    this.wake();
  }

  /** Notes in a batch that is about to be written what the index is to be told of it. */
  complete(batch: Map<string, Uint8Array | undefined>, cells: Iterable<Cell>): void {
    this.backlog.strike(batch);
    for (const runId of this.removing.splice(0)) this.backlog.change(runId, 'gone', batch);
    for (const cell of cells) {
      for (const { run, changes, isNew } of cell.changed) {
        const plan = this.parts.plans.of(run);
        if (isNew || isShown(changes, plan)) this.backlog.change(run.head.runId, captureRun(run, plan), batch);
      }
    }
  }

  /** The record of a run goes in the batch that gathers. */
  removed(runId: string): void {
    this.removing.push(runId);
  }

  /** The last batch is durable. */
  landed(): void {
    this.backlog.land();
    this.wake();
  }

  get state(): IndexState {
    const { index, owner } = this.parts;
    const { since, size } = this.backlog;
    return {
      ...{ shard: owner.shard, index: index.location, pending: size },
      lagMs: since === null ? 0 : Math.max(0, owner.clock.now() - since),
      rebuilding: this.rebuild.isUnderWay,
      failing: this.failing?.message ?? null,
    };
  }

  /** Answers when it is done: everything that is saved now is in the index (`settle`), or was written anew (`rebuild`). */
  ask(ask: IndexAsk, answer: (value: IndexState | HoldfastError) => void): void {
    if (ask.kind === 'state') return answer(this.state);
    if (ask.kind === 'rebuild' && ask.feed !== this.rebuild.feed) {
      this.isTakenOver = false;
      this.rebuild.begin(ask.feed);
    }
    const { last } = this.backlog;
    const { failures } = this;
    this.retryNow();
    this.wait(() => {
      const isWhole = this.isTakenOver && !this.rebuild.isUnderWay;
      if (isWhole && this.backlog.isTold(last) && !this.backlog.isUnread) answer(this.state);
      else if (ask.kind === 'settle' && this.failing && this.failures > failures) answer(this.failing);
      else return false;
      return true;
    });
  }

  /** Lets the index have the rest, where it takes it. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.parts.owner.clock.after(closeMs, resolve);
      this.wait(() => {
        if (this.backlog.size > 0 && !this.failing && !this.isOver) return false;
        cancel();
        resolve();
        return true;
      });
    });
  }

  /** Tells nothing any more. */
  end(): void {
    this.isOver = true;
    this.cancelNext?.();
    this.cancelBlocked?.();
    this.answerWaiters();
    this.waiters = [];
  }

  private wait(waiter: () => boolean): void {
    this.waiters.push(waiter);
    this.answerWaiters();
    this.wake();
  }

  private answerWaiters(): void {
    this.waiters = this.waiters.filter((waiter) => !waiter());
  }

  private get hasWork(): boolean {
    const { backlog, rebuild, blocked, isTakenOver } = this;
    return !isTakenOver || backlog.size > 0 || backlog.isUnread || rebuild.isUnderWay || blocked.changed.length > 0;
  }

  private wake(): void {
    if (this.isOver || this.isWorking || this.cancelNext || !this.hasWork) return;
    this.isWorking = true;
    this.write().then(
      () => this.wrote(),
      (error) => this.failed(error),
    );
  }

  private wrote(): void {
    this.isWorking = false;
    if (this.isOver) return;
    this.failing = undefined;
    this.failuresInRow = 0;
    this.answerWaiters();
    if (this.hasWork) this.wakeIn(pauseMs);
  }

  private failed(error: unknown): void {
    this.isWorking = false;
    if (this.isOver) return;
    const { logger, shard } = this.parts.owner;
    this.isTakenOver = false;
    this.backlog.readAgain();
    this.failing = error instanceof HoldfastError ? error : new HoldfastError('INTERNAL', `${error}`, { cause: error });
    if (this.failing.code === 'FENCED') {
      logger.warn('the index of a shard is fed by another engine or system', { shard, error });
      return this.end();
    }
    this.failures++;
    if (this.failuresInRow++ === 0) logger.warn('the index takes nothing; it is tried again', { shard, error });
    this.answerWaiters();
    this.wakeIn(Math.min(longestRetryMs, retryMs * 2 ** (this.failuresInRow - 1)));
  }

  /** Somebody waits for the index: it may be back. */
  private retryNow(): void {
    if (!this.failing || !this.cancelNext) return;
    this.cancelNext();
    this.cancelNext = undefined;
  }

  private wakeIn(ms: number): void {
    this.cancelNext = this.parts.owner.clock.after(ms, () => {
      this.cancelNext = undefined;
      this.wake();
    });
  }

  private async write(): Promise<void> {
    const { index, owner, store, pipeline } = this.parts;
    if (!this.parts.outlet.mayTell()) return this.end();
    const { feed } = this.rebuild;
    const feeder: Feeder = { shard: owner.shard, epoch: store.epoch, feed };
    if (!this.isTakenOver) await this.takeOver(feeder);
    await this.readMore();
    const sweep = this.rebuild.isWritten((number) => this.backlog.isTold(number));
    const taken = this.backlog.take(runsPerWrite);
    const put = this.rowsOf(taken);
    // Rows are heavy where texts are; what finds no place is taken next time.
    const told = taken.slice(0, put.length);
    const blocked = this.blocked.changed;
    if (told.length + blocked.length === 0 && !sweep) return;
    if (this.isOver || feed !== this.rebuild.feed) return;
    if (!this.parts.outlet.mayTell()) return this.end();
    const of = (kind: Told) => told.flatMap(([runId, value]) => (value === kind ? [runId] : []));
    const rows = put.filter((row) => row !== null);
    const changes = { put: rows, remove: of('gone'), keep: of('unreadable'), blocked, sweep };
    await index.write(feeder, ++this.batch, changes);
    if (feed !== this.rebuild.feed) return;
    this.backlog.told(told);
    this.blocked.written(blocked);
    if (sweep) {
      this.rebuild.end();
      owner.logger.info('the index of a shard was written anew', { shard: owner.shard });
    }
    if (!this.backlog.wantsStrike) return;
    pipeline.prove();
    pipeline.go();
  }

  private async takeOver(feeder: Feeder): Promise<void> {
    const isKnown = await this.parts.index.takeOver(feeder);
    if (this.isOver || feeder.feed !== this.rebuild.feed) return;
    this.isTakenOver = true;
    this.blocked.clear();
    if (!isKnown) this.rebuild.begin();
  }

  /** Brings runs into the backlog that are marked and not in memory, or whose turn it is to be written anew. */
  private async readMore(): Promise<void> {
    const { backlog, rebuild } = this;
    const { store, plans, owner } = this.parts;
    const read = (runId: string) => readRunToTell(store, plans, owner.logger, runId);
    if (!backlog.hasRoom) return;
    for (const runId of await backlog.readMarks(store, runsPerWrite)) backlog.admit(runId, await read(runId), true);
    const { feed } = rebuild;
    const runIds = await rebuild.next((number) => backlog.isTold(number));
    if (!runIds) return;
    for (const runId of runIds) backlog.admit(runId, await read(runId), false);
    if (feed === rebuild.feed) rebuild.read(runIds, backlog.last);
  }

  /** The rows of the first of them, as many as make one write; null for what has none. */
  private rowsOf(taken: readonly (readonly [string, Told])[]): (IndexedRun | null)[] {
    const rows: (IndexedRun | null)[] = [];
    let terms = 0;
    for (const [, value] of taken) {
      const row = typeof value === 'string' ? null : indexedRun(value, this.blocked.of(value.head.flowId));
      terms += row?.attributes.reduce((sum, attribute) => sum + attribute.terms.length, 0) ?? 0;
      if (terms > termsPerWrite && rows.length > 0) break;
      rows.push(row);
    }
    return rows;
  }

  private lookForBlocked(): void {
    this.blocked.look(this.parts.blocked());
    this.wake();
    this.cancelBlocked = this.parts.owner.clock.after(blockedEveryMs, () => this.lookForBlocked());
  }
}
