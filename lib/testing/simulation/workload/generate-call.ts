import type { Random } from '../random';
import type { Family } from './family';
import { inner, letter } from './generate';
import type { CallScript, RpcName } from './program';
import { accountKeys } from './state';

/** What a client asks of an RPC or Query. `starts`: nodes that it may go to; `published`: ids of messages to delete. */
export function generateCall(
  random: Random,
  rpc: RpcName,
  number: number,
  {
    starts,
    published,
    family,
  }: { starts: readonly number[]; published: readonly string[]; family: Family | undefined },
): CallScript {
  const quiet = rpc === 'peek';
  const posts = rpc === 'post';
  return {
    account: random.pick(accountKeys),
    rejected: !quiet && rpc !== 'book' && random.chance(0.15),
    throws: random.chance(0.1),
    sleepMs: random.chance(0.5) ? 0 : random.magnitude(1, rpc === 'swap' ? 4_000 : 3_000),
    note: !quiet && random.chance(0.4) ? `note of call ${number}` : null,
    publishes: Array.from({ length: quiet ? 0 : random.pick([0, 0, 1, 2]) }, (_, i) =>
      letter(random, ['Letters', 'Parcels'], `letter of call ${number}.${i}`),
    ).filter((each) => each !== null),
    deletes: posts && published.length > 0 && random.chance(0.3) ? [random.pick(published)] : [],
    starts: posts && random.chance(0.4) ? [random.pick(starts)] : [],
    cancels: posts && random.chance(0.2) ? [random.pick(inner)] : [],
    children: posts && family && random.chance(0.4) ? [family.child(random)] : [],
  };
}
