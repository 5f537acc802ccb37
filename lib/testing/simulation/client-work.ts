import type { Client } from '../../client';
import { initially } from '../../client';
import { HoldfastError } from '../../errors';
import type { Random } from './random';
import { flows } from './workload/flows';
import type { Program } from './workload/program';
import { Counter, Letters, Parcels, parcelKeys } from './workload/state';
import { stepNamed } from './workload/step-names';

/** Something a client is to do. Whoever does it, and however often, it is the same request. */
export interface Errand {
  readonly name: string;
  readonly flowId: string;
  /** After the beginning. */
  readonly atMs: number;
  /** It may wait for as long as the run is open. */
  readonly waits: boolean;
  run(client: Client): Promise<unknown>;
  isDone: boolean;
}

export const call = { deadline: 20_000 } as const;

/** What the clients do to one flow. */
export function errandsFor(program: Program, random: Random, chaosMs: number): Errand[] {
  const { flowId, flow } = program;
  const type = flows[flow] as any;
  const errands: Errand[] = [];
  const startMs = random.below(2_000);
  const add = (name: string, atMs: number, run: Errand['run'], waits = false) =>
    errands.push({ name: `${name} ${flowId}`, flowId, atMs, waits, run, isDone: false });
  const during = () => startMs + random.magnitude(1, Math.max(2, chaosMs * 1.2));
  const start = (number: number, idReuse?: string) => {
    const options = startOptions(program, random, `start ${number} of ${flowId}`, idReuse);
    const { input } = program.nodes[0]!;
    return (client: Client) => client.start(type, flowId, input as never, options as never);
  };
  const first = start(1);
  add('start', startMs, first);
  if (random.chance(0.15)) add('start again', during(), first);
  if (random.chance(0.2)) {
    add(
      'start another',
      during(),
      start(2, random.pick(['reject', 'ifPreviousFailed', 'ifClosed', 'terminateRunning'])),
    );
  }
  const messages = random.pick([0, 1, 2, 4, 8]);
  for (let i = 0; i < messages; i++) add('publish', during(), publishing(program, random, i));
  add('result', startMs + 1, (client) => client.result(type, flowId, { throwOnFailure: false }), true);
  if (random.chance(0.15)) {
    const how = random.pick(['cancel', 'fail', 'terminate'] as const);
    add('stop', during(), (client) => client.stop(flowId, how, 'told to', { requestId: `stop ${flowId}`, ...call }));
  }
  if (random.chance(0.3)) {
    const requestId = `skip ${flowId}`;
    add('skipTimer', during(), (client) => client.skipTimer(flowId, 'Waiting-1', 't0', { requestId, ...call }));
  }
  if (random.chance(0.2)) {
    const requestId = `config ${flowId}`;
    add('updateConfig', during(), (client) => client.updateConfig(flowId, { retention: '1d' }, { requestId, ...call }));
  }
  if (random.chance(0.5)) add('describe', during(), (client) => client.describe(flowId, call));
  if (random.chance(0.5)) add('attributes', during(), (client) => client.attributes(type, flowId, call));
  if (random.chance(0.3)) add('history', during(), (client) => client.history(flowId, call));
  if (random.chance(0.3)) {
    add('waitForStep', startMs + 2, (client) => client.waitForStep(type, flowId, stepNamed('Plain') as never), true);
  }
  return errands;
}

export function startOptions(program: Program, random: Random, requestId: string, idReuse?: string): object {
  const { durability, timeoutMs, historyLimit, retentionMs, initialCounter } = program;
  return {
    requestId,
    attributes: [initially(Counter, initialCounter)],
    ...(random.chance(0.15) ? { startDelay: random.magnitude(1, 20_000) } : {}),
    ...(durability && { durability }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
    ...(historyLimit !== undefined && { historyLimit }),
    ...(retentionMs !== undefined && { retention: retentionMs }),
    ...(idReuse && { idReuse }),
    ...call,
  };
}

/** Ends a run that goes on by nothing but what nobody sends. */
export function stopErrand(flowId: string): Errand {
  const requestId = `end ${flowId}`;
  const run = (client: Client) => client.stop(flowId, 'cancel', 'the simulation is over', { requestId, ...call });
  return { name: `end ${flowId}`, flowId, atMs: 0, waits: false, run, isDone: false };
}

function publishing({ flow, flowId }: Program, random: Random, number: number): Errand['run'] {
  const messages = Array.from({ length: random.pick([1, 1, 1, 3]) }, (_, i) => {
    const value = `message ${number}.${i}`;
    const messageId = `${flowId} ${value}`;
    return random.chance(0.6)
      ? { channel: Letters, value, messageId }
      : { channel: Parcels, key: random.pick(parcelKeys), value, messageId };
  });
  return (client) => client.publishAll(flows[flow] as any, flowId, messages as any, call);
}

const retried = ['DEADLINE_EXCEEDED', 'STORE_UNAVAILABLE', 'OVERLOADED'];

/** Whether the same request may be sent again: nobody knows whether it was applied. */
export function isWorthRepeating(error: unknown): boolean {
  return error instanceof HoldfastError && retried.includes(error.code);
}
