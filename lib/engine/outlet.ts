import type { Hint, HoldfastDispatch, ShardInbox, ToProcess, ToShard } from '../dispatch';
import { HoldfastError } from '../errors';
import type { Lease, Offers, Origin } from '../ports';
import { wireError } from './wire-error';

/** The only way out of a shard: nothing leaves without a valid lease, and what leaves names its owner (P5). */
export class Outlet {
  private readonly offers: Offers<Hint>;
  private shut = false;

  constructor(
    private readonly dispatch: HoldfastDispatch,
    private readonly lease: Lease,
    private readonly origin: Origin,
    private readonly onLost: (error: HoldfastError) => void,
  ) {
    this.offers = dispatch.openOffers();
  }

  post(process: string, message: ToProcess): void {
    if (this.mayActAs('tell')) this.dispatch.post(process, message, this.origin);
  }

  /** Answers a request with a value or an error. */
  answer({ replyTo, id }: { readonly replyTo: string; readonly id: string }, value: unknown): void {
    const isError = value instanceof Error;
    this.post(replyTo, isError ? { kind: 'answer', id, error: wireError(value) } : { kind: 'answer', id, value });
  }

  /** Sends a message to another shard; what is lost is sent again by whoever waits for its answer. */
  send(shard: number, message: ToShard): Promise<void> {
    return this.mayActAs('tell') ? this.dispatch.send(shard, message) : Promise.resolve();
  }

  offer(hint: Hint): void {
    if (this.mayActAs('tell')) this.offers.offer(hint);
  }

  withdraw(hintId: string): void {
    if (!this.shut) this.offers.withdraw(hintId);
  }

  forget(hintId: string): void {
    if (!this.shut) this.offers.forget(hintId);
  }

  /** Lets messages go that were taken: an owner that was replaced would take them away from its successor. */
  trim(inbox: Pick<ShardInbox, 'trim'>, count: number): void {
    if (this.mayActAs('trim')) inbox.trim(count);
  }

  /** Whether the owner may tell anybody anything now; the session is over where it may not. */
  mayTell(): boolean {
    return this.mayActAs('tell');
  }

  /** Whether the owner may write now; the session is over where it may not. */
  mayWrite(): boolean {
    return this.mayActAs('write');
  }

  close(): void {
    if (this.shut) return;
    this.shut = true;
    this.offers.close();
  }

  private mayActAs(what: string): boolean {
    if (this.shut) return false;
    if (this.lease.isValid()) return true;
    const { shard } = this.origin;
    this.onLost(
      new HoldfastError('FENCED', `The lease of shard ${shard} is over: this owner may not ${what} any more.`),
    );
    return false;
  }
}
