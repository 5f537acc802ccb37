import assert from 'node:assert/strict';
import type { Client } from '../../index';
import { type Seen, SendersFlow, senders, targets } from './senders-flow';

/** Every acknowledged message was handled exactly once, in the order of its sender, over all roll-overs. */
export async function checkSenders(client: Client, each: number): Promise<void> {
  for (const [flowId, continues] of Object.entries(targets)) {
    const seen = (await client.result(SendersFlow, flowId)) as Seen;
    assert.deepEqual(seen.wrong, [], `${flowId}: once, and in order`);
    assert.deepEqual(
      seen.last,
      Array.from({ length: senders }, () => each),
      flowId,
    );
    const { unread, previousRunId } = await client.describe(flowId);
    assert.deepEqual(unread, [], `${flowId}: nothing is left over`);
    assert.equal(previousRunId !== null, continues, `${flowId}: it went on as new runs`);
    if (continues) continue;
    const kinds = (await client.history(flowId)).map(({ kind }) => kind);
    assert.ok(kinds.filter((kind) => kind === 'HistoryRolled').length > 1, `${flowId}: its history rolled`);
  }
}
