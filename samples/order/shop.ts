import { setTimeout as pause } from 'node:timers/promises';
import type { StepContext } from '../../index';
import { Ledger } from './ledger';
import { settings } from './settings';

export interface Order {
  readonly id: string;
  readonly amount: number;
  readonly item: string;
}

/** The services that the Steps call; they take it in their constructors like state. */
export class Shop {
  private readonly ledger = new Ledger(settings.ledger);

  async charge(order: Order, ctx: StepContext): Promise<void> {
    await this.perform('charge', `${order.amount} EUR for ${order.item}`, order, ctx);
  }

  async ship(order: Order, ctx: StepContext): Promise<void> {
    if (order.item.includes('piano')) throw new RefusedByCarrier(`${order.item} is too heavy`);
    // The carrier's line is always engaged at first: see the second attempt in the history.
    if (ctx.attempt === 1) throw new Error('the carrier does not answer');
    await this.perform('ship', order.item, order, ctx);
  }

  async refund(order: Order, ctx: StepContext): Promise<void> {
    await this.perform('refund', `${order.amount} EUR`, order, ctx);
  }

  /** Half of the slowness before the effect and half after it, so that a crash can hit both sides. */
  private async perform(effect: string, what: string, order: Order, ctx: StepContext): Promise<void> {
    say(ctx, `${effect} ${what} …`);
    await pause(settings.slowMs / 2);
    const done = this.ledger.record(effect, order.id, ctx.idempotencyKey);
    say(ctx, done ? `${effect}: done` : `${effect}: was done before the crash, so nothing happens now`);
    await pause(settings.slowMs / 2);
  }
}

export class RefusedByCarrier extends Error {
  override readonly name = 'RefusedByCarrier';
}

/** One line of what happens, with the execution it happens in. */
export function say(ctx: StepContext, text: string): void {
  const attempt = ctx.attempt > 1 ? ` (attempt ${ctx.attempt})` : '';
  console.log(`  ${ctx.stepExecutionId.padEnd(10)} ${text}${attempt}`);
}
