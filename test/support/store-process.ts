/**
 * A process of its own with a store, for tests that kill it: `store-process.ts <url> hold` opens shard 0 and stays;
 * `… write` writes k0, k1, … to it and prints each number once its write was acknowledged.
 */
import { HoldfastError } from '../../lib/errors';
import { openStore } from '../../lib/store/open-store';

async function main([url, task]: string[]): Promise<void> {
  const store = await openStore(url!);
  const shard = await store.open(0);
  process.stdout.write('held\n');
  if (task === 'hold') setInterval(() => {}, 1_000);
  else {
    for (let i = 0; ; i++) {
      await shard.write(new Map([[`k${i}`, Buffer.alloc(500, i)]]));
      process.stdout.write(`${i}\n`);
    }
  }
}

main(process.argv.slice(2)).catch((failure: unknown) => {
  process.stdout.write(`refused ${failure instanceof HoldfastError ? failure.code : ''} ${String(failure)}\n`);
  process.exitCode = 1;
});
