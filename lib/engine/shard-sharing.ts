import { HoldfastError } from '../errors';
import type { Cancel, Clock, Leases, Logger } from '../ports';
import type { ShardOwner } from './shard-owner';

export interface SharingParts {
  /** Names this engine. */
  readonly engine: string;
  readonly leases: Leases;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Until {
  readonly monotonic: number;
  readonly wall: number;
}

/** The longest time between two rounds, so that a free shard has an owner within a second. */
const roundMs = 750;

/** How long an engine that cannot open its shards takes none, where others live: leases. */
const stepBackLeases = 3;

/**
 * Keeps an engine at its fair share of the shards: takes free ones, hands over what is too much, and gives up at once what
 * it cannot prove to hold. A lease counts from before its renewal was sent, by the clock that ran further (P5).
 */
export class ShardSharing {
  private readonly until = new Map<number, Until>();
  /** What is done for a shard now, so that a round does not begin it twice. */
  private readonly busy = new Map<number, Promise<void>>();
  private readonly open = new Set<number>();
  /** Shards whose lease was over for a while as they were opened: somebody else may have had them since. */
  private readonly doubtful = new Set<number>();
  private cancelNext: Cancel | undefined;
  private running: Promise<void> | undefined;
  /** Something has changed since the running round looked. */
  private again = false;
  private stopListening: () => void = () => {};
  private failing = false;
  private backUntil = Number.NEGATIVE_INFINITY;
  private stopping = false;
  private stopped = false;

  constructor(
    private readonly parts: SharingParts,
    private readonly owners: readonly ShardOwner[],
  ) {}

  /** Shards that are open here, in order. */
  get shards(): number[] {
    return [...this.open].sort((a, b) => a - b);
  }

  /** Whether this engine may write and tell for the shard, by what it knows now. */
  isValid(shard: number): boolean {
    const until = this.until.get(shard);
    const { clock } = this.parts;
    return until !== undefined && clock.monotonic() < until.monotonic && clock.now() < until.wall;
  }

  /** Resolves when the shards that were to be had are open. Throws what makes every shard impossible to open. */
  async start(): Promise<void> {
    this.stopListening = this.parts.leases.onReleased(() => this.roundSoon());
    await this.round();
    const opened = await Promise.allSettled(this.busy.values());
    const failed = opened.find((result) => result.status === 'rejected');
    if (failed && failed.reason instanceof HoldfastError && failed.reason.kind === 'usage') throw failed.reason;
  }

  /** Hands every shard over: closes it, then lets others have it, who need not wait for the rest. */
  async stop(): Promise<void> {
    if (this.stopping) return;
    this.stopping = true;
    this.stopListening();
    const { leases, engine, logger } = this.parts;
    await this.running;
    this.round();
    await Promise.allSettled(this.busy.values());
    await Promise.all([...this.open].map((shard) => this.handOver(shard)));
    this.stopped = true;
    this.cancelNext?.();
    await this.running;
    // What a last round had taken and nobody has opened.
    const unopened = [...this.until.keys()];
    await leases.release(engine, unopened).catch((error) => logger.warn('leases could not be given back', { error }));
    await leases.leave(engine).catch((error) => logger.warn('the engine could not sign off', { error }));
  }

  /** Another owner was met in the store: this engine has no business there until it is given the shard again. */
  fenced(shard: number): void {
    this.open.delete(shard);
    this.roundSoon();
  }

  /** The shard cannot be opened here: the store may be out of reach for this engine alone. */
  hopeless(shard: number): void {
    this.open.delete(shard);
    this.during(shard, () => this.giveBack(shard));
  }

  private roundSoon(): void {
    if (this.stopped) return;
    if (this.running) {
      this.again = true;
      return;
    }
    this.cancelNext?.();
    this.cancelNext = this.parts.clock.after(0, () => this.round());
  }

  private round(): Promise<void> {
    this.running ??= this.tend()
      .then(
        () => {
          this.failing = false;
        },
        (error) => {
          if (!this.failing) this.parts.logger.warn('the leases of shards cannot be renewed', { error });
          this.failing = true;
        },
      )
      .finally(() => {
        this.running = undefined;
        this.giveUpWhatIsOver();
        if (this.stopped) return;
        this.cancelNext?.();
        const delayMs = this.again ? 0 : Math.min(roundMs, this.parts.leaseMs / 4);
        this.again = false;
        this.cancelNext = this.parts.clock.after(delayMs, () => this.round());
      });
    return this.running;
  }

  private async tend(): Promise<void> {
    const { leases, engine, leaseMs, clock } = this.parts;
    const until = { monotonic: clock.monotonic() + leaseMs, wall: clock.now() + leaseMs };
    const steppedBack = clock.monotonic() < this.backUntil;
    const part = this.stopping ? 'leaves' : steppedBack ? 'stepped back' : 'shares';
    const { held, excess } = await leases.tend(engine, this.owners.length, leaseMs, part);
    // Before it is renewed: what was over may have been somebody else's meanwhile, and is opened anew.
    this.giveUpWhatIsOver();
    for (const shard of this.until.keys()) {
      if (held.includes(shard)) continue;
      this.until.delete(shard);
      this.doubtful.add(shard);
    }
    for (const shard of held) this.until.set(shard, until);
    if (this.stopping) return;
    for (const shard of held) if (!this.open.has(shard)) this.during(shard, () => this.takeUp(shard));
    for (const shard of [...this.open].filter((each) => !this.busy.has(each)).slice(0, excess)) {
      this.during(shard, () => this.handOver(shard));
    }
  }

  private giveUpWhatIsOver(): void {
    for (const shard of this.until.keys()) if (!this.isValid(shard)) this.doubtful.add(shard);
    for (const shard of this.open) {
      if (this.isValid(shard) || this.busy.has(shard)) continue;
      this.parts.logger.warn('the lease of a shard is over', { shard });
      this.open.delete(shard);
      this.during(shard, () => this.owners[shard]!.abandon());
    }
  }

  private during(shard: number, act: () => Promise<void>): void {
    if (this.busy.has(shard)) return;
    const acting = act().finally(() => this.busy.delete(shard));
    acting.catch(() => {});
    this.busy.set(shard, acting);
  }

  private async takeUp(shard: number): Promise<void> {
    const { leases, engine, logger } = this.parts;
    const owner = this.owners[shard]!;
    this.doubtful.delete(shard);
    try {
      await owner.open();
      if (this.doubtful.has(shard)) await owner.abandon();
      // It may have been lost already.
      if (!owner.isOpen) return;
      this.open.add(shard);
      logger.info('a shard was taken up', { shard, engine });
    } catch (error) {
      logger.error('a shard could not be opened', { shard, error });
      // A shard that was lost in a race says nothing about the store.
      if (isOfStore(error)) await this.giveBack(shard);
      else await leases.release(engine, [shard]).catch(() => {});
      throw error;
    }
  }

  /** Gives others the chance to open the shard. */
  private async giveBack(shard: number): Promise<void> {
    const { leases, leaseMs, engine, clock, logger } = this.parts;
    const ms = stepBackLeases * leaseMs;
    this.backUntil = clock.monotonic() + ms;
    logger.error('this engine takes no shards for a while where others live', { shard, engine, ms });
    await leases.release(engine, [shard]).catch(() => {});
  }

  private async handOver(shard: number): Promise<void> {
    const { leases, engine, logger } = this.parts;
    this.open.delete(shard);
    try {
      await this.owners[shard]!.close();
    } catch (error) {
      logger.warn('a shard could not be closed', { shard, error });
    }
    this.until.delete(shard);
    await leases.release(engine, [shard]).catch((error) => logger.warn('a lease could not be given back', { error }));
    logger.info('a shard was handed over', { shard, engine });
  }
}

function isOfStore(error: unknown): boolean {
  return !(error instanceof HoldfastError) || error.kind === 'transient';
}
