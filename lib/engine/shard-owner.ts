import type { HoldfastDispatch, ShardInbox } from '../dispatch';
import { HoldfastError } from '../errors';
import type { Cancel, Clock, FlowIndex, Lease, Logger, ShardStore, StateStore, StoreStats, Telemetry } from '../ports';
import { Blocked } from './blocked';
import type { CallTakers } from './call-takers';
import type { IndexState } from './index-feed';
import type { QueueLimits } from './queue-limits';
import type { QueueLength } from './queue-state';
import type { Refusals } from './refusals';
import type { EngineSettings } from './settings';
import { ShardSession } from './shard-session';
import { Watchers } from './watchers';
import type { WorkerRegistry } from './worker-registry';

export interface ShardOwnerParts {
  readonly shard: number;
  readonly store: StateStore;
  readonly dispatch: HoldfastDispatch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry?: Telemetry | undefined;
  readonly workers: WorkerRegistry;
  readonly callTakers: CallTakers;
  readonly settings: EngineSettings;
  readonly limits: QueueLimits;
  readonly refusals: Refusals;
  readonly lease: Lease;
  /** Where runs are searched for. */
  readonly index?: FlowIndex | undefined;
  /** Another owner took the shard over: this one has stopped. */
  readonly onFenced: (error: HoldfastError) => void;
  /** The shard could not be opened again for long, and others may have it: this owner has stopped. */
  readonly hopeless?: { readonly afterMs: number; tell(): void } | undefined;
}

/** Keeps a session on a shard: opens it, drives its turns, and after a doubt opens another on what is stored. */
export class ShardOwner {
  private store: ShardStore | undefined;
  private session: ShardSession | undefined;
  private inbox: ShardInbox | undefined;
  private closed = true;
  private turning: Promise<void> | undefined;
  private again = false;
  private cancelReopen: Cancel | undefined;
  /** Grows whenever the shard is taken or let go: what began before has no business any more. */
  private tenure = 0;
  private readonly watchers: Watchers;
  private readonly blocked: Blocked;

  constructor(private readonly parts: ShardOwnerParts) {
    this.watchers = new Watchers(parts.clock);
    this.blocked = new Blocked(parts.logger);
  }

  async open(): Promise<void> {
    this.closed = false;
    this.tenure++;
    this.blocked.clear();
    for (;;) {
      const { doubts } = this.blocked;
      try {
        return await this.begin();
      } catch (error) {
        // A flow is to blame: it has another look, and is parked if that does not help (P10).
        if (this.blocked.doubts > doubts && !this.closed) continue;
        this.closed = true;
        this.leave();
        throw error;
      }
    }
  }

  get isOpen(): boolean {
    return !this.closed;
  }

  /** Writes what has gathered and closes the shard; what is in the inbox stays there. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.leave();
    const { session } = this;
    this.session = undefined;
    await this.turning;
    await session?.close();
  }

  /** Lets the shard go without writing or telling anything more: it may be somebody else's. */
  async abandon(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.leave();
    const { session } = this;
    this.session = undefined;
    session?.end();
    await this.turning;
    await this.store?.close().catch(() => {});
  }

  get queues(): readonly QueueLength[] {
    return this.session?.queues ?? [];
  }

  get indexState(): IndexState | undefined {
    return this.session?.indexState;
  }

  get stats(): StoreStats {
    return this.store?.stats ?? { writes: 0, records: 0, bytes: 0 };
  }

  private async begin(): Promise<void> {
    const { parts, tenure } = this;
    const store = await parts.store.open(parts.shard);
    if (this.tenure !== tenure) {
      await store.close().catch(() => {});
      throw this.letGo();
    }
    this.store = store;
    this.inbox ??= parts.dispatch.openInbox(parts.shard, () => this.wakeUp());
    let session: ShardSession | undefined;
    let early: { readonly error: unknown } | undefined;
    try {
      session = await ShardSession.open(store, this.inbox, this.watchers, this.blocked, parts, {
        wake: () => this.wakeUp(),
        failed: (error) => {
          if (session) this.fail(session, error);
          else early ??= { error };
        },
      });
      if (early) throw early.error;
      if (this.tenure !== tenure) throw this.letGo();
    } catch (error) {
      session?.end();
      await store.close().catch(() => {});
      throw error;
    }
    this.session = session;
    this.inbox?.rewind();
    this.wakeUp();
  }

  private wakeUp(): void {
    this.again = true;
    const { session } = this;
    if (!session || this.turning) return;
    // In a later microtask, so that everything sent in the same tick is taken in one turn.
    this.turning = Promise.resolve()
      .then(() => this.turnWhileNeeded(session))
      .catch((error) => this.fail(session, error))
      .finally(() => {
        this.turning = undefined;
        if (this.again && this.session) this.wakeUp();
      });
  }

  private async turnWhileNeeded(session: ShardSession): Promise<void> {
    while (this.again && this.session === session) {
      this.again = false;
      if (await session.turn()) this.again = true;
    }
  }

  private fail(session: ShardSession, error: unknown): void {
    if (this.session !== session) return;
    const { logger, shard } = this.parts;
    this.session = undefined;
    session.end();
    const closing = this.store!.close().catch(() => {});
    if (error instanceof HoldfastError && error.kind === 'fenced') return this.lose(error);
    logger.warn('the shard is reopened', { shard, error });
    const { tenure } = this;
    closing.then(() => {
      if (this.tenure === tenure) this.reopen(0, this.parts.clock.monotonic());
    });
  }

  private lose(error: HoldfastError): void {
    const { logger, shard, onFenced } = this.parts;
    this.closed = true;
    this.leave();
    logger.error('the shard was taken over by another owner', { shard });
    onFenced(error);
  }

  private letGo(): HoldfastError {
    return new HoldfastError('CLOSED', `Shard ${this.parts.shard} was let go while it was opened.`);
  }

  private leave(): void {
    this.tenure++;
    this.cancelReopen?.();
    this.inbox?.close();
    this.inbox = undefined;
  }

  private reopen(delayMs: number, since: number): void {
    const { clock, logger, shard, lease, hopeless } = this.parts;
    this.cancelReopen = clock.after(delayMs, () => {
      if (this.closed) return;
      // Opening would fence whoever holds the shard now.
      if (!lease.isValid()) return this.lose(new HoldfastError('FENCED', `The lease of shard ${shard} is over.`));
      const { tenure } = this;
      this.begin().catch((error) => {
        if (this.tenure !== tenure) return;
        logger.error('the shard could not be reopened', { shard, error });
        if (!hopeless || clock.monotonic() - since < hopeless.afterMs) {
          return this.reopen(Math.min(5_000, 2 * delayMs + 50), since);
        }
        this.closed = true;
        this.leave();
        hopeless.tell();
      });
    });
  }
}
