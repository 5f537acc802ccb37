import type { AnyHint, Logger, Offers } from '../../ports';
import { encodeRecord } from '../../values';
import type { BullOffers } from './bull-offers';
import type { Outbox } from './outbox';
import { hintGroup, queueName, type RedisKeys } from './redis-keys';
import { compareIds } from './stream-entry';

/** Task queues are named again after this time: where Redis evicts keys, their names may have gone. */
const namedMs = 30_000;
/** Hints are looked after this often, and none that is younger. */
const sweepMs = 2_000;
/** A hint that was read and not claimed for this long is offered again: its reader stands still or is dead. */
const unclaimedMs = 3_000;
const perSweep = 1_000;

interface Standing {
  readonly hint: AnyHint;
  readonly key: string;
  /** undefined until Redis has it. */
  entryId: string | undefined;
  offeredAt: number;
}

/** Puts hints into streams and finds those that got lost there. */
export class RedisOffers {
  private readonly standing = new Map<string, Standing>();
  private readonly queues = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private namedAt = performance.now();
  private sweeping = false;

  constructor(
    private readonly keys: RedisKeys,
    private readonly outbox: Outbox,
    private readonly logger: Logger,
    private readonly bull: BullOffers,
  ) {}

  open(): void {
    this.timer = setInterval(() => this.sweep(), sweepMs);
    this.timer.unref();
  }

  openOffers(): Offers<AnyHint> {
    const mine = new Set<string>();
    return {
      offer: (hint) => {
        mine.add(hint.id);
        if (hint.taskQueue !== null && this.bull.has(hint.taskQueue)) this.bull.offer(hint, hint.taskQueue);
        else this.offer(hint);
      },
      withdraw: (id) => {
        mine.delete(id);
        this.withdraw(id);
        this.bull.withdraw(id);
      },
      forget: (id) => {
        mine.delete(id);
        this.standing.delete(id);
        this.bull.forget(id);
      },
      // They stay in their streams: whoever claims one is told by the next owner.
      close: () => {
        for (const id of mine) {
          this.standing.delete(id);
          this.bull.forget(id);
        }
        mine.clear();
      },
    };
  }

  /** Redis lost data: everything that stands is offered again. */
  reissue(): void {
    this.queues.clear();
    this.bull.reissue();
    for (const standing of this.standing.values()) this.put(standing);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private offer(hint: AnyHint): void {
    if (this.standing.has(hint.id)) return;
    const standing: Standing = { hint, key: this.keys.hintsOf(hint), entryId: undefined, offeredAt: 0 };
    this.standing.set(hint.id, standing);
    this.put(standing);
  }

  private withdraw(id: string): void {
    const standing = this.standing.get(id);
    if (!standing) return;
    this.standing.delete(id);
    if (standing.entryId !== undefined) this.remove(standing.key, standing.entryId);
  }

  private put(standing: Standing): void {
    const { hint, key } = standing;
    standing.offeredAt = performance.now();
    this.name(standing);
    this.outbox.command<string>('XADD', key, '*', 'h', encodeRecord(hint)).then(
      (entryId) => {
        if (this.standing.get(hint.id) === standing) standing.entryId = entryId;
        else this.remove(key, entryId);
      },
      (error) => {
        standing.entryId = undefined;
        this.logger.debug('a hint could not be offered and will be again', { error });
      },
    );
  }

  /** Workers that serve all task queues find them by their names. */
  private name({ hint: { taskQueue, flow }, key }: Standing): void {
    if (taskQueue === null || this.queues.has(key)) return;
    this.queues.add(key);
    this.outbox.command('SADD', this.keys.queues, queueName(taskQueue, flow)).catch(() => this.queues.delete(key));
  }

  private remove(key: string, entryId: string): void {
    this.outbox.attempt('XDEL', key, entryId);
    this.outbox.attempt('XACK', key, hintGroup, entryId);
  }

  private async sweep(): Promise<void> {
    if (this.sweeping) return;
    this.sweeping = true;
    try {
      const now = performance.now();
      const before = now - sweepMs;
      if (now > this.namedAt + namedMs) {
        this.namedAt = now;
        this.queues.clear();
      }
      const byKey = new Map<string, Standing[]>();
      for (const standing of this.standing.values()) {
        this.name(standing);
        if (standing.offeredAt > before) continue;
        if (standing.entryId === undefined) {
          this.put(standing);
          continue;
        }
        const others = byKey.get(standing.key);
        if (others) others.push(standing);
        else byKey.set(standing.key, [standing]);
      }
      await Promise.all([...byKey].map(([key, standings]) => this.sweepStream(key, standings)));
    } catch (error) {
      this.logger.debug('hints could not be looked after', { error });
    } finally {
      this.sweeping = false;
    }
  }

  private async sweepStream(key: string, standings: readonly Standing[]): Promise<void> {
    const oldest = standings.reduce(
      (id, { entryId }) => (compareIds(entryId!, id) < 0 ? entryId! : id),
      '9'.repeat(15),
    );
    const [present, pending] = await Promise.all([
      this.outbox.command<[string, unknown][]>('XRANGE', key, oldest, '+', 'COUNT', perSweep),
      this.outbox
        .command<[string, string, number, number][]>(
          ...(['XPENDING', key, hintGroup, 'IDLE', unclaimedMs, '-', '+', perSweep] as const),
        )
        // Without a group nothing has been read yet: its first reader makes it.
        .catch(() => []),
    ]);
    const ids = new Set(present.map(([id]) => id));
    const seenTo = present.length < perSweep ? undefined : present.at(-1)![0];
    const unclaimed = new Set(pending.map(([id]) => id));
    for (const standing of standings) {
      const { entryId, hint } = standing;
      if (this.standing.get(hint.id) !== standing || entryId === undefined) continue;
      const isLost = !ids.has(entryId) && (seenTo === undefined || compareIds(entryId, seenTo) <= 0);
      if (!isLost && !unclaimed.has(entryId)) continue;
      this.remove(key, entryId);
      this.put(standing);
    }
  }
}
