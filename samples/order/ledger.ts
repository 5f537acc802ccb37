import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Entry {
  readonly effect: string;
  readonly orderId: string;
  /** The same for every attempt of one method call: this is how the world tells a repeat from a new order. */
  readonly idempotencyKey: string;
  readonly pid: number;
}

/**
 * Stands for the world outside: the bank and the carrier. Like them it keeps what was done under which idempotency key, and
 * does nothing for a key that it knows.
 */
export class Ledger {
  constructor(readonly path: string) {
    mkdirSync(dirname(path), { recursive: true });
  }

  /** False if that was done before. */
  record(effect: string, orderId: string, idempotencyKey: string): boolean {
    if (this.entries().some((entry) => entry.idempotencyKey === idempotencyKey)) return false;
    const entry: Entry = { effect, orderId, idempotencyKey, pid: process.pid };
    appendFileSync(this.path, `${JSON.stringify(entry)}\n`);
    return true;
  }

  entries(): Entry[] {
    if (!existsSync(this.path)) return [];
    const lines = readFileSync(this.path, 'utf8').split('\n');
    return lines.filter(Boolean).map((line) => JSON.parse(line));
  }
}
