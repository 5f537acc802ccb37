import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type HistoryEvent, Holdfast } from '../../index';
import { Counter, type Effect, type Load, LoadFlow, Received } from './load-flow';

/** What every execution must have left, whatever was killed meanwhile. */
export async function checkLoad(store: string, folder: string, flows: number, loadOf: (n: number) => Load) {
  const lines = (file: string) => readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
  const acknowledged = lines('acknowledged.log');
  const effects = new Map<string, Effect[]>();
  for (const line of lines('effects.log')) {
    const effect = JSON.parse(line) as Effect;
    effects.set(effect.flowId, [...(effects.get(effect.flowId) ?? []), effect]);
  }
  const holdfast = await Holdfast.open({ flows: [LoadFlow], store });
  try {
    for (let number = 0; number < flows; number++) {
      const flowId = `load-${number}`;
      await checkFlow(holdfast.client, flowId, loadOf(number), effects.get(flowId) ?? [], acknowledged);
    }
  } finally {
    await holdfast.close();
  }
}

async function checkFlow(
  client: Client,
  flowId: string,
  load: Load,
  effects: readonly Effect[],
  acknowledged: readonly string[],
) {
  const { status, scheduled, unread } = await client.describe(flowId);
  assert.equal(status, 'completed', `${flowId}: every acknowledged flow ends`);
  assert.deepEqual(unread, [], `${flowId}: no message is left over`);
  const history = await client.history(flowId);
  checkNumbers(flowId, history);
  checkExecutions(flowId, history, scheduled, effects);
  checkMessages(flowId, history, load, acknowledged);
  const values = await client.attributes(LoadFlow, flowId);
  const sent = Array.from({ length: load.messages }, (_, message) => message);
  assert.deepEqual(values.get(Received), sent, `${flowId}: each message was received once, in order`);
  assert.equal(values.get(Counter), load.branches, `${flowId}: no update of the counter was lost`);
}

function checkNumbers(flowId: string, history: readonly HistoryEvent[]): void {
  history.forEach(({ number }, index) => {
    assert.equal(number, index + 1, `${flowId}: the history has no hole`);
  });
  assert.equal(history.filter(({ kind }) => kind === 'FlowStarted').length, 1, `${flowId}: started once`);
  assert.equal(history.at(-1)?.kind, 'FlowClosed', `${flowId}: closed, and nothing after it`);
}

/** One completion per execution, and no attempt of a SYNC call that the history does not know. */
function checkExecutions(
  flowId: string,
  history: readonly HistoryEvent[],
  scheduled: Readonly<Record<string, number>>,
  effects: readonly Effect[],
): void {
  const all = Object.entries(scheduled).flatMap(([step, count]) =>
    Array.from({ length: count }, (_, i) => `${step}-${i + 1}`),
  );
  const completed = executionsOf(history, 'ExecuteCompleted');
  assert.deepEqual([...completed].sort(), [...all].sort(), `${flowId}: each execution completes exactly once`);
  assert.deepEqual(
    [...executionsOf(history, 'StepScheduled')].sort(),
    [...all].sort(),
    `${flowId}: the counters agree with what was scheduled`,
  );
  const runId = history[0]!.fields.runId;
  for (const execution of all) {
    const seen = effects.filter((effect) => effect.execution === execution);
    assert.ok(seen.length > 0, `${flowId} ${execution}: its effect is recorded at least once`);
    for (const { key } of seen)
      assert.equal(key, `${runId}/${execution}/execute`, 'the idempotency key stays the same');
    if (execution.startsWith('quick-')) continue;
    const attempts = seen.map(({ attempt }) => attempt);
    assert.equal(new Set(attempts).size, attempts.length, `${flowId} ${execution}: an attempt runs once: ${attempts}`);
    const known = history.filter(({ kind, fields }) => kind === 'AttemptStarted' && fields.execution === execution);
    const last = Math.max(
      ...known.filter(({ fields }) => fields.method === 'execute').map(({ fields }) => Number(fields.attempt)),
    );
    assert.ok(Math.max(...attempts) <= last, `${flowId} ${execution}: nothing ran after its result was saved`);
    assert.ok(attempts.includes(last), `${flowId} ${execution}: the attempt that completed did run`);
  }
}

function checkMessages(
  flowId: string,
  history: readonly HistoryEvent[],
  load: Load,
  acknowledged: readonly string[],
): void {
  const published = history.filter(({ kind }) => kind === 'MessagePublished').map(({ fields }) => fields.messageId);
  const sent = acknowledged.filter((line) => line.startsWith(`publish ${flowId}-`)).map((line) => line.slice(8));
  assert.equal(sent.length, load.messages, `${flowId}: all messages were acknowledged`);
  assert.deepEqual(published, sent, `${flowId}: each acknowledged message is stored once`);
  const consumed = history.flatMap(({ kind, fields }) =>
    kind === 'WaitSatisfied' ? (fields.messages as [number, string[]][]).flatMap(([, keys]) => keys) : [],
  );
  assert.equal(new Set(consumed).size, consumed.length, `${flowId}: a message goes to one wait, once`);
  assert.equal(consumed.length, load.messages + load.branches, `${flowId}: every message is consumed`);
}

function executionsOf(history: readonly HistoryEvent[], kind: HistoryEvent['kind']): string[] {
  return history.filter((event) => event.kind === kind).map(({ fields }) => String(fields.execution));
}
