import assert from 'node:assert/strict';
import type { Client, HistoryEvent, Recovery } from '../../index';
import { checkAttempts, type Execution, executionsOf, type Tally } from './check-calls';
import type { Damage } from './faults';
import {
  AccountFlow,
  AppliedBy,
  ChainFlow,
  CollectFlow,
  Counter,
  CountFlow,
  Entries,
  LongFlow,
  OnceFlow,
  RareFlow,
  ReceivedMessages,
  Recoveries,
  RetryFlow,
  SlowerFlow,
  Sum,
  TimedFlow,
} from './flows';
import { branches, calls, links, messages, type Told, timerMs } from './load';
import type { Line } from './outside';

/** Compares what the system says of a Flow, and has told its client, with the counters outside and with the contract. */
export async function checkFlow(
  client: Client,
  told: Told,
  damage: Damage,
  history: readonly HistoryEvent[],
  lines: readonly Line[],
  tally: Tally,
): Promise<void> {
  const { flow, flowId, runId } = told;
  const [description, values] = await Promise.all([client.describe(flowId), client.attributes(flow, flowId)]);
  assert.equal(description.status, 'completed', `${flowId}: every acknowledged start ends`);
  assert.equal(description.runId, runId, `${flowId}: in the run that was acknowledged`);
  assert.deepEqual(description.unread, [], `${flowId}: nothing is left unread`);
  assert.deepEqual(
    history.map(({ number }) => number),
    history.map((_, i) => i + 1),
    `${flowId}: the history has no hole`,
  );
  assert.equal(history.at(-1)!.kind, 'FlowClosed', `${flowId}: nothing comes after the close`);
  const executions = executionsOf(told, history, lines);
  const known = new Set(executions.map(({ id }) => `${runId}/${id}/execute`));
  for (const line of lines) {
    if (line.flowId === flowId) assert.ok(known.has(line.key), `${flowId}: no effect under another key: ${line.key}`);
  }
  for (const execution of executions) {
    if (flow !== AccountFlow && !execution.id.startsWith('Fork-')) checkAttempts(told, execution, damage, tally);
  }
  const sees: View = { told, history, lines, executions, tally, get: (attribute) => values.get(attribute) };
  checks.get(flow)!(sees);
}

interface View {
  readonly told: Told;
  readonly history: readonly HistoryEvent[];
  readonly lines: readonly Line[];
  readonly executions: readonly Execution[];
  readonly tally: Tally;
  get: Awaited<ReturnType<Client['attributes']>>['get'];
}

const checks = new Map<unknown, (view: View) => void>([
  [ChainFlow, checkChain],
  [CountFlow, checkCount],
  [RetryFlow, checkRetry],
  [OnceFlow, checkRecoveries],
  [RareFlow, checkRecoveries],
  [LongFlow, checkLong],
  [SlowerFlow, checkSlower],
  [CollectFlow, checkCollect],
  [TimedFlow, checkTimed],
  [AccountFlow, checkAccount],
]);

function checkChain({ told, executions, get }: View): void {
  const sum = (links * (links + 1)) / 2;
  assert.equal(get(Sum), sum, `${told.flowId}: each result is applied once`);
  assert.deepEqual(told.outputs, [sum], `${told.flowId}: the client was told what is saved`);
  const applied = Object.fromEntries(executions.map(({ id, started }) => [id, started.at(-1)]));
  assert.deepEqual(get(AppliedBy), applied, `${told.flowId}: what is saved is from the attempt that counts`);
}

function checkCount({ told, executions, lines, get }: View): void {
  const adds = executions.filter(({ id }) => id.startsWith('Add-'));
  assert.equal(adds.length, branches, told.flowId);
  assert.equal(get(Counter), branches, `${told.flowId}: the locked counter is the number of completed increments`);
  const entries = get(Entries)!;
  assert.deepEqual([...entries].sort(), adds.map(({ id }) => id).sort(), `${told.flowId}: each of them once`);
  // Bodies whose results count never ran at the same time.
  const spans = adds.map(({ id, started }) => {
    const of = (what: Line['what']) =>
      lines.find(
        (line) => line.key === `${told.runId}/${id}/execute` && line.what === what && line.attempt === started.at(-1),
      )!.at;
    return { from: of('begin'), to: of('end') };
  });
  spans.sort((a, b) => a.from - b.from);
  spans.slice(1).forEach(({ from }, i) => {
    assert.ok(from >= spans[i]!.to, `${told.flowId}: two held an exclusive lock at a time: ${JSON.stringify(spans)}`);
  });
}

function checkRetry({ told, executions: [flaky] }: View): void {
  const { started, lost } = flaky!;
  assert.deepEqual(told.outputs, [started.length], `${told.flowId}: the client was told what is saved`);
  const expected = lost.includes(3) ? 4 : 3;
  assert.equal(started.length, expected, `${told.flowId}: losses count as attempts, lost ${lost}`);
}

/** A recovery for each failed execution, and what it was told of it holds outside. */
function checkRecoveries({ told, executions, tally, get }: View): void {
  const failed = executions.filter(({ completed }) => !completed);
  const recoveries = get(Recoveries) ?? ([] as Recovery[]);
  assert.deepEqual(
    recoveries.map(({ stepExecutionId }) => stepExecutionId),
    failed.map(({ id }) => id),
    `${told.flowId}: one recovery for each failed execution`,
  );
  for (const { stepExecutionId, attempts, progress, failure } of recoveries) {
    const where = `${told.flowId} ${stepExecutionId}: ${progress}, ${failure.name}`;
    const { started, begins } = failed.find(({ id }) => id === stepExecutionId)!;
    assert.equal(attempts, started.length, `${where}: attempts`);
    if (progress === 'NOT_STARTED') assert.equal(begins.length, 0, `${where}: though its body began`);
    assert.equal(progress, started.length === 0 ? 'NOT_STARTED' : 'NOT_COMPLETED', where);
    assert.equal(failure.name, started.length === 0 ? 'StartTimeout' : 'WorkerLost', where);
    if (progress === 'NOT_STARTED') tally.notStarted++;
    else tally.notCompleted++;
  }
}

function checkSlower({ told, executions: [slower] }: View): void {
  assert.deepEqual(told.outputs, [slower!.started.at(-1)], `${told.flowId}: the result of the attempt that counts`);
}

function checkLong({ told, lines, tally }: View): void {
  const own = lines.filter(({ flowId }) => flowId === told.flowId);
  const resumes = own.filter(({ what }) => what === 'resume');
  for (const { attempt, value } of resumes) {
    const sent = own.filter((line) => line.what === 'beat' && line.attempt < attempt).map((line) => line.value);
    assert.ok(value === 0 || sent.includes(value), `${told.flowId}: attempt ${attempt} goes on from ${value}`);
    if (value !== 0) tally.resumedFromHeartbeat++;
  }
  assert.ok(
    resumes.some(({ value }) => value === told.outputs![0]),
    `${told.flowId}: ${told.outputs}`,
  );
}

function checkCollect({ told, history, tally, get }: View): void {
  const sent = Array.from({ length: messages }, (_, n) => n);
  assert.deepEqual(get(ReceivedMessages), sent, `${told.flowId}: each message once, in order`);
  const consumed = history.flatMap(({ kind, fields }) =>
    kind === 'WaitSatisfied' ? (fields.messages as [number, string[]][]).flatMap(([, keys]) => keys) : [],
  );
  assert.equal(consumed.length, messages, `${told.flowId}: each message is consumed`);
  assert.equal(new Set(consumed).size, messages, `${told.flowId}: and once`);
  tally.messages += messages;
}

function checkTimed({ told, executions: [timed] }: View): void {
  const first = Math.min(...timed!.begins.map(({ at }) => at));
  assert.ok(
    first >= told.startedAt + timerMs,
    `${told.flowId}: the timer fired ${first - told.startedAt} ms after the start`,
  );
}

function checkAccount({ told, history, tally, get }: View): void {
  const entries = get(Entries)!;
  assert.equal(new Set(entries).size, entries.length, `${told.flowId}: a call is applied once: ${entries}`);
  assert.equal(told.answers.size, calls, `${told.flowId}: every call is answered`);
  for (const [entry, answer] of told.answers) {
    assert.equal(entries.indexOf(entry), answer - 1, `${told.flowId}: ${entry} is where its caller was told it is`);
  }
  const completed = history.filter(({ kind, fields }) => kind === 'RpcCompleted' && fields.rpc !== 'finish');
  assert.equal(completed.length, calls, `${told.flowId}: one event for each call`);
  tally.calls += calls;
}
