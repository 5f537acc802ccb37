import { join } from 'node:path';

const folder = process.env.HOLDFAST_DIR ?? '.holdfast';

/** Of this sample: what the command line and the environment say. */
export const settings = {
  /** Where the flows are kept. */
  store: process.env.HOLDFAST_STORE || `file:${join(folder, 'order')}`,
  /** What took place in the world outside. */
  ledger: join(folder, 'order-ledger.jsonl'),
  /** How long each Step takes. */
  slowMs: process.argv.includes('--slow') ? 4_000 : Number(process.env.SLOW_MS ?? 0),
  /** What is ordered; the carrier refuses pianos, and then the customer gets the money back. */
  item: process.argv.includes('--refuse') ? 'a grand piano' : 'a red bicycle',
};
