import type { Container } from 'inversify';
import type { FlowClass } from '../authoring';
import { Client } from '../client';
import { type Compiled, compile } from '../compiler';
import { MemoryDispatch } from '../dispatch/memory-dispatch';
import { consoleLogger } from '../embedded/console-logger';
import { guarded } from '../embedded/guarded-logger';
import { idsBy } from '../embedded/system-ids';
import { Engine } from '../engine';
import { HoldfastError } from '../errors';
import { InversifyResolver } from '../inversify';
import type { HandlerResolver, Ids, Logger } from '../ports';
import { type Duration, durationMs, instantMs } from '../values/duration';
import { Worker } from '../worker';
import { Activity } from './activity';
import { BreakableStore } from './breakable-store';
import { Life } from './life';
import { MortalDispatch } from './mortal-dispatch';
import { nextWake } from './next-wake';
import { quiet } from './quiet';
import { VirtualClock } from './virtual-clock';
import { WatchedResolver } from './watched-resolver';

export interface TestEnvironmentOptions {
  /** Every Flow the test runs or starts. */
  readonly flows: readonly FlowClass[];
  /** Makes the Steps and Flows [a container of its own]; it outlives crashes, with its singletons. */
  readonly container?: Container;
  /** In place of `container`, for another DI framework. */
  readonly resolver?: HandlerResolver;
  /** What time it is at first [the host's]. Handlers that ask `Date` still get the host's. */
  readonly startAt?: Date | number;
  /** Steps that run at a time; 0 for none [100]. */
  readonly slots?: number;
  /** Real time that a handler may take without anything else happening; see `settled` [4 s]. */
  readonly patience?: Duration;
  /** [errors as JSON lines on standard error] */
  readonly logger?: Logger;
}

/** For `settled`, `advance` and `nextTimer`. */
export interface SettleOptions {
  /** Does not wait for handlers that run: their timeouts and heartbeats can then be tried by letting time pass [false]. */
  readonly whileRunning?: boolean;
}

const errorsOnly: Logger = { ...consoleLogger, warn() {} };

/** Internal delays up to this are met at their very time by `advance`, as all timers of Flows are. */
const shortMs = 1_000;

/**
 * Flows in memory in virtual time, with the engine, worker and client that production runs. Time stands still until the
 * test moves it: nothing is waited for in real time but handlers that themselves wait for something real.
 *
 * A call of the client that waits for a Flow (`result`, `waitForStep`, an RPC without a worker) resolves only when the test
 * has let the time pass that the Flow needs: start it, `advance`, then await it.
 */
export class TestEnvironment {
  /** Stays the same over crashes. */
  readonly client: Client;
  /** How often engine and worker have died. */
  crashes = 0;
  private life = new Life();
  private worker!: Worker;
  /** The crash after which engine and worker are being opened; null when they are open. */
  private opening: number | null = null;
  private closed = false;

  private constructor(
    private readonly options: TestEnvironmentOptions,
    private readonly compiled: Compiled,
    private readonly activity: Activity,
    private readonly clock: VirtualClock,
    private readonly ids: Ids,
    private readonly dispatch: MemoryDispatch,
    private readonly store: BreakableStore,
    private readonly resolver: HandlerResolver,
    private handlers: WatchedResolver,
  ) {
    const process = ids.next();
    this.client = new Client({ process, compiled, dispatch, clock, ids, shards: 1 });
    store.onCrash = () => this.die();
    // Makes the client repeat at once what is not answered, instead of some seconds later.
    store.onOpened = (epoch) => dispatch.post(process, { kind: 'unknown', shard: 0 }, { shard: 0, epoch });
  }

  /** Throws `CompileError` with everything that is wrong with the Flows, and `INVALID_DURATION`. */
  static async open(options: TestEnvironmentOptions): Promise<TestEnvironment> {
    const activity = new Activity();
    const clock = new VirtualClock(instantMs(options.startAt ?? Date.now(), 'startAt'), activity);
    const resolver = options.resolver ?? new InversifyResolver(options.container);
    const environment = new TestEnvironment(
      options,
      compile(options.flows),
      activity,
      clock,
      idsBy(clock),
      new MemoryDispatch(),
      new BreakableStore(activity),
      resolver,
      new WatchedResolver(resolver, activity),
    );
    await environment.begin();
    await environment.client.open();
    return environment;
  }

  /** What time it is. */
  get now(): Date {
    return new Date(this.clock.now());
  }

  /** Durable writes so far: a scenario of `n` writes can be run again with a crash at each of them. */
  get writes(): number {
    return this.store.writes;
  }

  /**
   * Resolves when nothing more happens without time: no message is under way, nothing is left to write and no handler runs.
   * A handler that waits for real I/O or a real timer is waited for. One that goes on for longer than `patience`, because it
   * waits for virtual time to pass or for the test itself, makes this reject with `DEADLINE_EXCEEDED`, which names it.
   */
  async settled({ whileRunning = false }: SettleOptions = {}): Promise<void> {
    this.refuseClosed();
    await quiet({
      activity: this.activity,
      fire: () => this.clock.fire(),
      opening: () => this.opening !== null,
      running: () => (whileRunning ? [] : this.handlers.names),
      patienceMs: durationMs(this.options.patience ?? 4_000, 'patience'),
    });
  }

  /**
   * Lets time pass, e.g. `'24h'`. Timers of Flows fire in their order, each at its own time, and all that follows from one
   * has settled before the next; deadlines of client calls may be met up to a thousandth of the duration late. Rejects
   * as `settled`, and with `INVALID_DURATION`.
   */
  async advance(duration: Duration, options: SettleOptions = {}): Promise<void> {
    const ms = durationMs(duration, 'advance');
    await this.settled(options);
    const end = this.clock.now() + ms;
    for (;;) {
      const now = this.clock.now();
      const { at, outstanding } = await nextWake(this.store, this.client, now);
      const exact = options.whileRunning === true && this.handlers.names.length > 0;
      const coarse = exact ? 0 : ms / (outstanding ? 50_000 : 1_000);
      const others = this.clock.nextDue();
      const hop = Math.min(
        end,
        at ?? end,
        this.clock.nextDue(shortMs) ?? end,
        others === undefined ? end : Math.max(others, now + coarse),
      );
      this.clock.moveTo(Math.ceil(hop));
      await this.settled(options);
      if (this.clock.now() >= end) return;
    }
  }

  /**
   * Goes to the next time at which a Flow has something due: a timer, the end of a back-off or start delay, a timeout. Gives
   * that time when all that follows has settled, or undefined when nothing is due any more. Rejects as `settled`.
   */
  async nextTimer(options: SettleOptions = {}): Promise<Date | undefined> {
    await this.settled(options);
    for (;;) {
      const { at } = await nextWake(this.store, this.client, this.clock.now());
      const short = this.clock.nextDue(shortMs);
      const next = Math.min(at ?? Number.POSITIVE_INFINITY, short ?? Number.POSITIVE_INFINITY);
      if (next === Number.POSITIVE_INFINITY) return undefined;
      this.clock.moveTo(next);
      await this.settled(options);
      if (next === at) return new Date(at);
    }
  }

  /**
   * Engine and worker die as by `kill -9` and open again on the same store. What they had not saved is lost; handlers that
   * ran never come back: whatever they still do, Holdfast hears nothing of it. The client, the container and the test's own
   * objects live on, and calls of the client that were not answered are answered by the new engine.
   */
  async crash(): Promise<void> {
    this.refuseClosed();
    this.die();
    await this.opened();
  }

  /** Engine and worker die when the `n`th durable write from now is about to be made: it is lost. */
  crashBeforeWrite(n = 1): void {
    this.store.crashAt('before', counted(n, 'crashBeforeWrite'));
  }

  /** Engine and worker die when the `n`th durable write from now was made, and nobody has heard of it yet. */
  crashAfterWrite(n = 1): void {
    this.store.crashAt('after', counted(n, 'crashAfterWrite'));
  }

  /** The next `n` writes fail; the engine then opens its shard again and goes on from what is stored. */
  failWrites(n = 1): void {
    this.store.failNext(counted(n, 'failWrites'));
  }

  /** Ends everything: signals of running handlers abort, calls of the client reject with `CLOSED`. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    await this.opened();
    this.closed = true;
    this.client.close();
    const drained = this.worker.close();
    await quiet({
      activity: this.activity,
      fire: () => this.clock.fire(),
      opening: () => false,
      running: () => [],
      patienceMs: 1_000,
    });
    await Promise.race([drained, new Promise((resolve) => setImmediate(resolve))]);
    this.life.end();
  }

  private die(): void {
    if (this.life.isOver) return;
    this.life.end();
    this.crashes++;
    this.activity.note();
    const { crashes } = this;
    this.opening = crashes;
    void this.begin().then(() => {
      if (this.opening === crashes) this.opening = null;
    });
  }

  private async opened(): Promise<void> {
    while (this.opening !== null) await new Promise((resolve) => setImmediate(resolve));
  }

  private async begin(): Promise<void> {
    this.life = new Life();
    this.handlers = new WatchedResolver(this.resolver, this.activity);
    const { life, compiled, ids } = this;
    const clock = life.clock(this.clock);
    const logger = guarded(this.options.logger ?? errorsOnly);
    const dispatch = new MortalDispatch(this.dispatch, life);
    const engine = new Engine({ store: this.store.during(life), dispatch, clock, logger });
    this.worker = new Worker({
      ...{ compiled, dispatch, clock, logger },
      process: ids.next(),
      resolver: this.handlers,
      shards: 1,
      settings: { graceMs: 0, abortMs: 0, ...(this.options.slots !== undefined && { slots: this.options.slots }) },
    });
    await engine.open();
    await this.worker.open();
  }

  private refuseClosed(): void {
    if (this.closed) throw new HoldfastError('CLOSED', 'The test environment is closed.');
  }
}

function counted(n: number, use: string): number {
  if (Number.isSafeInteger(n) && n >= 1) return n;
  throw new HoldfastError('INVALID_ARGUMENT', `${use} takes a whole number from 1, not ${n}.`);
}
