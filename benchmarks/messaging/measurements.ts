import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client, HoldfastError } from '../../index';
import { Added, CartFlow, ParentFlow, Taken, type Terms } from './flows';
import type { SizedStore, Sizes } from './sized-store';

const forEver: Terms = { perRun: null, total: Number.MAX_SAFE_INTEGER };

/** Queries answer, and leave no event. */
export async function measureQueries(client: Client, flowId: string, queries: number) {
  await client.start(CartFlow, flowId, forEver);
  await send(client, flowId, 1, 1);
  await handled(client, flowId, 1);
  const eventsBefore = await idleEvents(client, flowId);
  const answers: number[] = [];
  const began = performance.now();
  for (let i = 0; i < queries; i++) answers.push(await client.rpc(CartFlow, flowId).sum());
  const msEach = (performance.now() - began) / queries;
  return { answers, eventsBefore, eventsAfter: await idleEvents(client, flowId), msEach };
}

/** An update that its validator rejects leaves no event; one that is accepted gives its answer. */
export async function measureUpdates(client: Client, flowId: string) {
  await client.start(CartFlow, flowId, forEver);
  const eventsBefore = await idleEvents(client, flowId);
  const cart = client.rpc(CartFlow, flowId);
  const rejection = (await cart.setCap(-5).catch((error: HoldfastError) => error)) as HoldfastError;
  const eventsRejected = await idleEvents(client, flowId);
  const began = performance.now();
  const previous = await cart.setCap(500);
  const ms = performance.now() - began;
  return { rejection, previous, ms, eventsBefore, eventsRejected, eventsAccepted: await idleEvents(client, flowId) };
}

/** Children of one parent run at the same time. */
export async function measureChildren(client: Client, flowId: string, children: number, childMs: number) {
  const began = performance.now();
  await client.start(ParentFlow, flowId, { children, ms: childMs });
  const spans = (await client.result(ParentFlow, flowId)) as { from: number; to: number }[];
  const ms = performance.now() - began;
  const atOnce = Math.max(
    ...spans.map(({ from }) => spans.filter((span) => span.from <= from && from < span.to).length),
  );
  return { ended: spans.length, atOnce, ms };
}

/** Signals to one Flow, one after the other; with `perRun` it goes on as a new run after so many. */
export async function measureSignals(
  client: Client,
  store: SizedStore,
  flowId: string,
  total: number,
  perRun: number | null,
) {
  await client.start(CartFlow, flowId, { perRun, total });
  const began = performance.now();
  await send(client, flowId, total, 1);
  const { count } = (await client.result(CartFlow, flowId)) as { count: number };
  const msEach = (performance.now() - began) / total;
  const runs: { events: number; bytes: number }[] = [];
  for (let runId: string | null | undefined; runId !== null; ) {
    const run = await client.describe(flowId, runId === undefined ? {} : { runId });
    runs.push({ events: run.events, bytes: await store.historyBytesOf(run.runId) });
    runId = run.previousRunId;
  }
  return { count, msEach, runs };
}

export interface Block {
  /** From the first signal that is sent to the last one that is handled. */
  readonly ms: number;
  readonly cpuMs: number;
}

/** What is stored after so many signals. */
export interface Sample extends Sizes {
  readonly signals: number;
}

/** Very many signals to one Flow whose history rolls by itself, in blocks; what was rolled is kept for a second. */
export async function measureStream(
  client: Client,
  store: SizedStore,
  flowId: string,
  {
    signals,
    block,
    inFlight,
    historyLimit,
  }: { signals: number; block: number; inFlight: number; historyLimit: number },
) {
  await client.start(CartFlow, flowId, forEver, { historyLimit, retention: '1s' });
  const blocks: Block[] = [];
  const samples: Sample[] = [];
  for (let sent = block; sent <= signals; sent += block) {
    const began = performance.now();
    const cpu = process.cpuUsage();
    await send(client, flowId, block, inFlight);
    await handled(client, flowId, sent);
    const { user, system } = process.cpuUsage(cpu);
    blocks.push({ ms: performance.now() - began, cpuMs: (user + system) / 1_000 });
    if (sent % (signals / 10) === 0) samples.push({ signals: sent, ...(await store.sizes()) });
  }
  const taken = (await client.attributes(CartFlow, flowId)).get(Taken)!;
  const { events } = await client.describe(flowId);
  return { taken, blocks, samples, events };
}

/** Sends so many signals of 1, up to `inFlight` at a time. */
async function send(client: Client, flowId: string, count: number, inFlight: number): Promise<void> {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await client.publish(CartFlow, flowId, Added, 1);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

async function handled(client: Client, flowId: string, count: number): Promise<void> {
  await client.waitForAttribute(CartFlow, flowId, Taken, (taken) => (taken?.count ?? 0) >= count, { deadline: '60s' });
}

/** How many events there are when the Flow waits for what comes next. */
async function idleEvents(client: Client, flowId: string): Promise<number> {
  for (;;) {
    const { steps, events } = await client.describe(flowId);
    if (steps.length > 0 && steps.every(({ state }) => state === 'waiting')) return events;
    await pause(1);
  }
}
