import { HoldfastError } from '../errors';
import type { Logger } from '../ports';
import type { Client } from './client';

/** At start-up not every run of a large system is looked at. */
const runsPerShard = 10_000;

/** Says at the start of a worker what open runs need and its code lacks, before they come to it (V2). Never rejects. */
export async function warnOfLacks(client: Client, logger: Logger): Promise<void> {
  try {
    const { lacks } = await client.check({ limit: runsPerShard });
    for (const lack of lacks) logger.warn('open runs have what this code lacks', { ...lack });
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'CLOSED') return;
    logger.warn('open runs could not be compared with this code', { error });
  }
}
